// One columnar store for the events of a trace, whatever format they came from. Times
// are int64 nanoseconds on the clock of the trace (with its base time added), spans
// half-open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stepslack/trace/import_stats.h"
#include "stepslack/trace/intervals.h"

namespace stepslack::trace {

using StringId = uint32_t;  // 0 is the empty string

// Each distinct text once; ids are dense and in order of first use.
class StringPool {
 public:
  StringPool();
  StringPool(const StringPool& other);
  StringPool& operator=(const StringPool& other);
  StringPool(StringPool&&) noexcept = default;
  StringPool& operator=(StringPool&&) noexcept = default;

  StringId Intern(std::string_view text);
  std::string_view Get(StringId id) const { return texts_[id]; }
  size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // a deque, so that views into it stay valid
  std::unordered_map<std::string_view, StringId> ids_;
};

constexpr int32_t kNoCollective = -1;
constexpr int64_t kNoSeq = -1;

// Arguments of one collective. Absent numbers are 0, an absent sequence number kNoSeq.
struct CollectiveArgs {
  StringId name = 0;   // "all_reduce": lower case, without the library's prefix
  StringId group = 0;  // process group name
  int64_t seq = kNoSeq;
  int64_t bytes = 0;  // of the message on this rank
  int64_t group_size = 0;
  int32_t peer = -1;  // the other rank of a send or receive; -1: none or not known
};

constexpr int32_t kNoStream = -1;

// Column i of every vector is event i. Sorted by start, then longer first, then rank,
// process, thread, category and name, so that the order in the file has no influence.
struct EventStore {
  std::vector<int64_t> start_ns;
  std::vector<int64_t> end_ns;  // >= start_ns
  std::vector<int32_t> rank;    // -1: the trace does not say
  std::vector<int64_t> process;
  std::vector<int64_t> thread;  // below -2^40: named by text
  std::vector<StringId> category;
  std::vector<StringId> name;
  std::vector<int32_t> collective;   // index into `collectives`, or kNoCollective
  std::vector<int32_t> stream;       // of the device, or kNoStream
  std::vector<int64_t> correlation;  // joins a launch and its kernel; 0: none
  std::vector<int64_t> external_id;  // joins a kernel and its operator; 0: none

  std::vector<CollectiveArgs> collectives;
  // Operators that were not kept one by one (ReadDetail::kMeasure): the union of their
  // time is all that is left of them. Any order.
  std::vector<Interval> operator_cover;
  int64_t records_read = 0;  // everything in the list of events, flows and marks too
  int64_t events_read = 0;   // complete events among them, kept or not
  StringPool strings;

  int32_t file_rank = -1;  // rank that the file claims; -1: it does not
  // The file holds several ranks, one or more processes each, and says which: `rank` is
  // per event, -1 for events of no rank, and file_rank means nothing.
  bool several_ranks = false;
  int64_t world_size = 0;    // 0: not known
  std::string backend;       // "gloo", "nccl"; empty when not known
  bool truncated = false;    // the input ended inside; what came before is here
  int64_t truncated_at = 0;  // byte where it ended
  ImportStats stats;

  size_t size() const { return start_ns.size(); }
  std::string_view NameOf(size_t event) const { return strings.Get(name[event]); }
  std::string_view CategoryOf(size_t event) const {
    return strings.Get(category[event]);
  }

  // One event; its collective, if any, must already be in `collectives`.
  void Append(int64_t start, int64_t end, int32_t of_rank, int64_t of_process,
              int64_t of_thread, StringId of_category, StringId of_name,
              int32_t of_collective = kNoCollective, int32_t of_stream = kNoStream,
              int64_t of_correlation = 0, int64_t of_external_id = 0);
  // Adds the events of another store (its strings, counters and cover too); the rank
  // and the world of this one win where both are known.
  void Merge(const EventStore& other);
  void SetRank(int32_t new_rank);  // of every event and of the file
  // One store a rank, ascending, when several_ranks; events of no rank are counted in
  // the first. The counters go to the first too.
  std::vector<EventStore> SplitByRank() const;
  void Sort();
  // Leaves the events for which keep[event] is true, in their order.
  void KeepOnly(const std::vector<bool>& keep);
};

}  // namespace stepslack::trace
