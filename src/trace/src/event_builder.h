// Turns events as written into rows of an EventStore: exact times, the category's
// meaning, what is communication, what is worth keeping.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kineto_event.h"
#include "stepslack/trace/event_names.h"
#include "stepslack/trace/event_store.h"
#include "stepslack/trace/kineto_reader.h"

namespace stepslack::trace {

class EventBuilder {
 public:
  EventBuilder(EventStore& store, const ReadOptions& options)
      : store_(store),
        detail_(options.detail),
        names_(options.names != nullptr ? *options.names : CollectiveNames::BuiltIn()) {
  }

  // `offset`: byte of the event in the text, for the counters.
  void Add(const RawEvent& event, int64_t offset);
  // Adds the base time to all events and gives kernels the arguments that only their
  // operator carries. Call once, at the end.
  void Finish(int64_t base_time_ns);

 private:
  struct Begun {
    int64_t start = 0;
    int64_t offset = 0;
    StringId category = 0;
    StringId name = 0;
    int32_t stream = kNoStream;
    int64_t correlation = 0;
    int64_t external_id = 0;
    bool has_collective = false;
    CollectiveArgs collective;
  };

  void AddComplete(const RawEvent& event, int64_t offset);
  void NameProcess(const RawEvent& event);
  void ApplyProcessRanks();
  void DropClampedTimes();
  void Begin(const RawEvent& event, int64_t offset);
  void End(const RawEvent& event, int64_t offset);
  bool Times(const RawEvent& event, int64_t offset, int64_t& start, int64_t& end);
  bool Keep(CategoryKind kind, std::string_view name, const RawEvent& event);
  void Cover(int64_t start, int64_t end);
  int32_t AddCollective(const RawEvent& event, CategoryKind kind, StringId name,
                        int64_t offset);
  CollectiveArgs ArgsOf(const RawEvent& event);
  bool IsNamedCollective(StringId name, CategoryKind kind);
  StringId Intern(const JsonToken& token);
  CategoryKind KindOf(const JsonToken& category);

  EventStore& store_;
  ReadDetail detail_;
  const CollectiveNames& names_;
  // By name and (device or not): 0 not looked up yet, 1 no, 2 communication.
  std::vector<uint8_t> name_is_collective_;
  std::string last_category_;
  CategoryKind last_kind_ = CategoryKind::kOther;
  bool has_last_category_ = false;
  // Arguments of record_param_comms by external id, for kernels that lack their own.
  std::unordered_map<int64_t, CollectiveArgs> operator_args_;
  std::unordered_map<int64_t, int32_t> process_ranks_;  // of a merged trace
  std::map<std::pair<int64_t, int64_t>, std::vector<Begun>> begun_;  // process, thread
};

}  // namespace stepslack::trace
