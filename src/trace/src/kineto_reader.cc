#include "stepslack/trace/kineto_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "event_builder.h"
#include "json_scanner.h"
#include "kineto_event.h"
#include "stepslack/base/text.h"
#include "stepslack/trace/exact_time.h"

namespace stepslack::trace {
namespace {

// No event is longer; what is, is damage.
constexpr size_t kLargestElement = size_t{64} << 20;
// White space allowed between the marks of an event boundary.
constexpr size_t kBoundarySlack = 4096;

std::optional<int64_t> IntOf(const JsonToken& token) {
  return base::ParseInt(base::Trim(token.text));
}

// Walks the text event by event. What the window cuts in two is read again from its
// start once more text has come.
class KinetoImport {
 public:
  KinetoImport(ByteSource& source, std::string_view name, const ReadOptions& options)
      : source_(source),
        name_(name),
        window_(source, kLargestElement),
        scanner_(window_.text()),
        builder_(store_, options) {
    store_.file_rank = -1;
    fallback_rank_ = options.rank;
  }

  base::Result<EventStore> Run();

 private:
  bool ReadRoot();  // false: no event list was found
  bool ReadRootMembers();
  bool ReadRootMember(std::string_view key);
  void ReadDistributedInfo();
  void ReadEvents();
  void ReadElement();
  void Recover(size_t from);
  void Truncate();
  void Finish();

  // Moves the window to `from` with more text behind it; positions start anew there.
  bool More(size_t from) {
    const bool more = window_.Advance(from);
    scanner_ = JsonScanner(window_.text());
    return more;
  }
  int64_t OffsetOf(size_t position) const {
    return window_.offset() + static_cast<int64_t>(position);
  }
  void Count(std::string_view what, Severity severity, size_t position) {
    store_.stats.Add(what, severity, OffsetOf(position));
  }

  ByteSource& source_;
  std::string_view name_;
  TextWindow window_;
  JsonScanner scanner_;
  EventStore store_;
  EventBuilder builder_;
  int32_t fallback_rank_ = -1;
  bool saw_events_ = false;
  bool stopped_ = false;
  int64_t base_time_ns_ = 0;
};

base::Result<EventStore> KinetoImport::Run() {
  if (window_.text().starts_with("\xEF\xBB\xBF")) scanner_.MoveTo(3);
  if (!ReadRoot()) {
    return base::Fail(
        "TRACE-0001", base::ExitCode::kInput,
        "this is not a Kineto trace: no traceEvents array was found",
        std::string(name_),
        "give the JSON or JSON.gz file that the profiler wrote, one per rank");
  }
  Finish();
  return std::move(store_);
}

bool KinetoImport::ReadRoot() {
  while (scanner_.Peek() == '\0' && scanner_.AtEnd()) {
    if (!More(scanner_.position())) return false;
  }
  if (scanner_.Peek() == '[') {
    ReadEvents();
    return true;
  }
  if (!scanner_.Take('{') || scanner_.Take('}')) return false;
  return ReadRootMembers();
}

bool KinetoImport::ReadRootMembers() {
  std::string_view key;
  while (!stopped_) {
    const size_t from = scanner_.position();
    const bool good =
        scanner_.ReadString(key) && scanner_.Take(':') && ReadRootMember(key);
    if (stopped_) break;
    if (good && scanner_.Take('}')) {
      scanner_.SkipSpace();
      if (scanner_.AtEnd() && More(scanner_.position())) scanner_.SkipSpace();
      if (!scanner_.AtEnd()) {
        Count(kBytesAfterEnd, Severity::kWarning, scanner_.position());
      }
      break;
    }
    if (good && scanner_.Take(',')) continue;
    scanner_.SkipSpace();
    if (scanner_.AtEnd()) {
      // A member that is read again begins at its key; one that is done, behind it.
      if (More(good ? scanner_.position() : from)) continue;
      Truncate();
    } else {
      Count("malformed root member, the rest is not read", Severity::kError, from);
      store_.truncated = true;
      store_.truncated_at = OffsetOf(from);
    }
    break;
  }
  return saw_events_;
}

bool KinetoImport::ReadRootMember(std::string_view key) {
  if (key == "traceEvents" && scanner_.Peek() == '[') {
    ReadEvents();
    return !stopped_;
  }
  if (key == "distributedInfo" && scanner_.Peek() == '{') {
    JsonScanner skip = scanner_;
    if (!skip.SkipValue()) {
      scanner_ = skip;
      return false;
    }
    ReadDistributedInfo();
    scanner_ = skip;
    return true;
  }
  if (key != "baseTimeNanoseconds") return scanner_.SkipValue();
  const size_t from = scanner_.position();
  JsonToken token;
  if (!scanner_.ReadScalar(token)) return false;
  const std::optional<int64_t> value = IntOf(token);
  if (value && *value >= -kTimeLimitNs && *value <= kTimeLimitNs) {
    base_time_ns_ = *value;
  } else {
    Count("unusable baseTimeNanoseconds", Severity::kError, from);
  }
  return true;
}

// The object is known to be well formed.
void KinetoImport::ReadDistributedInfo() {
  scanner_.Take('{');
  std::string_view key;
  while (scanner_.ReadString(key) && scanner_.Take(':')) {
    const char c = scanner_.Peek();
    JsonToken token;
    if (c == '{' || c == '[') {
      scanner_.SkipValue();
    } else if (scanner_.ReadScalar(token)) {
      const std::optional<int64_t> value = IntOf(token);
      const bool usable = value && *value >= 0 && *value <= 100'000'000;
      if (key == "rank" && usable) store_.file_rank = static_cast<int32_t>(*value);
      if (key == "world_size" && usable) store_.world_size = *value;
      if (key == "backend") store_.backend = DecodeJsonText(token.text);
    }
    if (!scanner_.Take(',')) return;
  }
}

void KinetoImport::ReadEvents() {
  saw_events_ = true;
  scanner_.Take('[');
  while (!stopped_) {
    if (scanner_.Take(']')) return;
    if (scanner_.Take(',')) continue;
    scanner_.SkipSpace();
    if (!scanner_.AtEnd()) {
      ReadElement();
    } else if (!More(scanner_.position())) {
      Truncate();
    }
  }
}

void KinetoImport::ReadElement() {
  while (true) {
    const size_t from = scanner_.position();
    RawEvent event;
    const bool is_object = scanner_.Peek() == '{';
    const bool good = is_object ? ReadRawEvent(scanner_, event) : scanner_.SkipValue();
    if (good && is_object) {
      builder_.Add(event, OffsetOf(from));
      return;
    }
    if (good) {
      Count("malformed event", Severity::kError, from);
      return;
    }
    if (!scanner_.AtEnd()) {
      Recover(from);
      return;
    }
    if (More(from)) continue;
    if (window_.at_end()) {
      scanner_.MoveTo(0);
      Truncate();
    } else {
      Recover(0);
    }
    return;
  }
}

// The event list goes on at the next boundary; without one the rest is lost.
void KinetoImport::Recover(size_t from) {
  Count("malformed event", Severity::kError, from);
  const int64_t broken_at = OffsetOf(from);
  while (true) {
    const size_t next = FindEventBoundary(window_.text(), from);
    if (next != std::string_view::npos) {
      scanner_.MoveTo(next);
      return;
    }
    const size_t size = window_.text().size();
    if (!More(std::max(from, size - std::min(size, kBoundarySlack)))) break;
    from = 0;
  }
  stopped_ = true;
  store_.truncated = true;
  store_.truncated_at = broken_at;
}

void KinetoImport::Truncate() {
  stopped_ = true;
  store_.truncated = true;
  store_.truncated_at = OffsetOf(scanner_.position());
}

void KinetoImport::Finish() {
  // Bytes behind the end are not needed, but a check sum that fails there is damage.
  while (!stopped_ && More(window_.text().size())) {
  }
  if (source_.damaged()) {
    store_.stats.Add("compressed data is damaged or cut short", Severity::kError,
                     OffsetOf(window_.text().size()));
    if (!store_.truncated) {
      store_.truncated = true;
      store_.truncated_at = OffsetOf(window_.text().size());
    }
  }
  builder_.Finish(base_time_ns_);
  if (store_.file_rank < 0) store_.file_rank = fallback_rank_;
  if (!store_.several_ranks) store_.SetRank(store_.file_rank);
  store_.Sort();
}

}  // namespace

base::Result<EventStore> ReadKineto(ByteSource& source, std::string_view name,
                                    const ReadOptions& options) {
  return KinetoImport(source, name, options).Run();
}

base::Result<EventStore> ParseKinetoTrace(std::string_view text, std::string_view name,
                                          const ReadOptions& options) {
  const std::unique_ptr<ByteSource> source = OverBytes(text);
  return ReadKineto(*source, name, options);
}

base::Result<EventStore> ReadKinetoTrace(const std::string& path,
                                         const ReadOptions& options) {
  SS_TRY(const std::unique_ptr<ByteSource> source, OpenFile(path));
  return ReadKineto(*source, path, options);
}

}  // namespace stepslack::trace
