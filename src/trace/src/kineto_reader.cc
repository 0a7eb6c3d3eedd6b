#include "stepslack/trace/kineto_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "exact_time.h"
#include "json_scanner.h"
#include "kineto_event.h"
#include "partial_gzip.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::trace {
namespace {

constexpr int64_t kLongestEventNs = int64_t{7} * 24 * 3600 * 1'000'000'000;
// Numbers for threads and processes that are named by text lie below this one.
constexpr int64_t kTextThreadBase = -(int64_t{1} << 40);

// FNV-1a, so that the number of a text does not depend on the order of the events.
int64_t NumberOfText(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return kTextThreadBase - static_cast<int64_t>(hash >> 2);
}

std::optional<int64_t> IntOf(const JsonToken& token) {
  return base::ParseInt(base::Trim(token.text));
}

int64_t ThreadNumber(const JsonToken& token) {
  if (!token.is_string) {
    const std::optional<int64_t> value = IntOf(token);
    if (value && *value > kTextThreadBase) return *value;
  }
  return NumberOfText(token.text);
}

// Builds the store while the text is scanned; the base time and rank may come last.
class KinetoImport {
 public:
  KinetoImport(std::string_view text, std::string_view name, const ReadOptions& options)
      : text_(text), name_(name), options_(options), scanner_(text) {}

  base::Result<EventStore> Run();

 private:
  bool ReadRoot();  // false: no event list was found
  bool ReadRootMember(std::string_view key);
  void ReadDistributedInfo();
  void ReadEvents();
  void ReadElement();
  void AddEvent(const RawEvent& event, int64_t offset);
  bool AddTimes(const RawEvent& event, int64_t offset, int64_t& start, int64_t& end);
  int32_t AddCollective(const RawEvent& event, std::string_view name,
                        std::string_view category, int64_t offset);
  void Recover(size_t from);
  void Truncate();
  void ApplyBaseTime();
  void ChooseRank();
  StringId Intern(const JsonToken& token);

  std::string_view text_;
  std::string_view name_;
  ReadOptions options_;
  JsonScanner scanner_;
  EventStore store_;
  bool saw_events_ = false;
  bool stopped_ = false;
  int64_t base_time_ns_ = 0;
};

base::Result<EventStore> KinetoImport::Run() {
  if (text_.starts_with("\xEF\xBB\xBF")) scanner_.MoveTo(3);
  if (!ReadRoot()) {
    return base::Fail(
        "TRACE-0001", base::ExitCode::kInput,
        "this is not a Kineto trace: no traceEvents array was found",
        std::string(name_),
        "give the JSON or JSON.gz file that the profiler wrote, one per rank");
  }
  ApplyBaseTime();
  ChooseRank();
  store_.Sort();
  return std::move(store_);
}

bool KinetoImport::ReadRoot() {
  if (scanner_.Peek() == '[') {
    ReadEvents();
    return true;
  }
  if (!scanner_.Take('{') || scanner_.Take('}')) return false;
  std::string_view key;
  while (!stopped_) {
    const size_t from = scanner_.position();
    const bool good =
        scanner_.ReadString(key) && scanner_.Take(':') && ReadRootMember(key);
    if (stopped_) break;
    if (good && scanner_.Take('}')) {
      if (scanner_.Peek() != '\0' || !scanner_.AtEnd()) {
        store_.stats.Add("bytes after the end", Severity::kWarning,
                         static_cast<int64_t>(scanner_.position()));
      }
      break;
    }
    if (good && scanner_.Take(',')) continue;
    scanner_.SkipSpace();
    if (scanner_.AtEnd()) {
      Truncate();
    } else {
      store_.stats.Add("malformed root member, the rest is not read", Severity::kError,
                       static_cast<int64_t>(from));
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
    store_.stats.Add("unusable baseTimeNanoseconds", Severity::kError,
                     static_cast<int64_t>(from));
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
    if (scanner_.AtEnd()) {
      Truncate();
    } else {
      ReadElement();
    }
  }
}

void KinetoImport::ReadElement() {
  const size_t from = scanner_.position();
  RawEvent event;
  const bool is_object = scanner_.Peek() == '{';
  const bool good = is_object ? ReadRawEvent(scanner_, event) : scanner_.SkipValue();
  if (good && is_object) {
    AddEvent(event, static_cast<int64_t>(from));
  } else if (good) {
    store_.stats.Add("malformed event", Severity::kError, static_cast<int64_t>(from));
  } else if (scanner_.AtEnd()) {
    scanner_.MoveTo(from);
    Truncate();
  } else {
    Recover(from);
  }
}

// The event list goes on at the next boundary; without one the rest is lost.
void KinetoImport::Recover(size_t from) {
  store_.stats.Add("malformed event", Severity::kError, static_cast<int64_t>(from));
  const size_t next = FindEventBoundary(text_, from);
  if (next == std::string_view::npos) {
    scanner_.MoveTo(from);
    Truncate();
  } else {
    scanner_.MoveTo(next);
  }
}

void KinetoImport::Truncate() {
  stopped_ = true;
  store_.truncated = true;
  store_.truncated_at = static_cast<int64_t>(scanner_.position());
}

StringId KinetoImport::Intern(const JsonToken& token) {
  const bool plain = std::all_of(token.text.begin(), token.text.end(), [](char c) {
    return c != '\\' && static_cast<unsigned char>(c) < 0x80;
  });
  return plain ? store_.strings.Intern(token.text)
               : store_.strings.Intern(DecodeJsonText(token.text));
}

bool KinetoImport::AddTimes(const RawEvent& event, int64_t offset, int64_t& start,
                            int64_t& end) {
  const std::optional<int64_t> ts = MicrosecondsToNs(base::Trim(event.start.text));
  const std::optional<int64_t> dur = MicrosecondsToNs(base::Trim(event.duration.text));
  if (!ts || !dur || event.name.text.data() == nullptr) {
    store_.stats.Add("malformed event", Severity::kError, offset);
    return false;
  }
  if (*dur > kLongestEventNs) {
    store_.stats.Add("event longer than 7 days", Severity::kWarning, offset);
    return false;
  }
  if (*dur < 0) {
    store_.stats.Add("negative duration set to 0", Severity::kWarning, offset);
  }
  start = *ts;
  end = *ts + std::max<int64_t>(*dur, 0);
  return true;
}

void KinetoImport::AddEvent(const RawEvent& event, int64_t offset) {
  if (event.phase.text != "X") {
    // Kinds of phase are few letters; anything longer is one kind, so memory stays
    // bounded.
    const bool known = event.phase.text.size() == 1 && event.phase.text[0] > ' ' &&
                       event.phase.text[0] < 0x7f;
    if (known) {
      store_.stats.Add(fmt::format("event of phase {} not used", event.phase.text),
                       Severity::kInfo, offset);
    } else {
      store_.stats.Add("malformed event", Severity::kError, offset);
    }
    return;
  }
  int64_t start = 0;
  int64_t end = 0;
  if (!AddTimes(event, offset, start, end)) return;
  const StringId name = Intern(event.name);
  const StringId category = Intern(event.category);
  const int32_t collective = AddCollective(event, store_.strings.Get(name),
                                           store_.strings.Get(category), offset);
  store_.Append(start, end, -1, ThreadNumber(event.process), ThreadNumber(event.thread),
                category, name, collective);
}

int32_t KinetoImport::AddCollective(const RawEvent& event, std::string_view name,
                                    std::string_view category, int64_t offset) {
  const bool has_args = !event.collective.text.empty();
  if (!IsCollectiveSpan(name, category, has_args)) return kNoCollective;
  CollectiveArgs args;
  args.name = store_.strings.Intern(
      CanonicalCollectiveName(has_args ? DecodeJsonText(event.collective.text) : name));
  args.group = Intern(event.group);
  args.seq = std::max(IntOf(event.sequence).value_or(kNoSeq), kNoSeq);
  args.group_size = std::max<int64_t>(IntOf(event.group_size).value_or(0), 0);
  // For gathers the output, for scatters the input is the whole message.
  const int64_t elements = std::max(IntOf(event.in_elements).value_or(0),
                                    IntOf(event.out_elements).value_or(0));
  const int64_t element_bytes = ElementBytes(event.element_type.text);
  if (elements > 0 && element_bytes > 0 &&
      elements <= std::numeric_limits<int64_t>::max() / element_bytes) {
    args.bytes = elements * element_bytes;
  } else {
    store_.stats.Add("collective without a message size", Severity::kInfo, offset);
  }
  store_.collectives.push_back(args);
  return static_cast<int32_t>(store_.collectives.size() - 1);
}

void KinetoImport::ApplyBaseTime() {
  for (size_t i = 0; i < store_.size(); ++i) {
    store_.start_ns[i] += base_time_ns_;
    store_.end_ns[i] += base_time_ns_;
  }
}

void KinetoImport::ChooseRank() {
  if (store_.file_rank < 0) store_.file_rank = options_.rank;
  store_.SetRank(store_.file_rank);
}

}  // namespace

base::Result<EventStore> ParseKinetoTrace(std::string_view text, std::string_view name,
                                          const ReadOptions& options) {
  return KinetoImport(text, name, options).Run();
}

base::Result<EventStore> ReadKinetoTrace(const std::string& path,
                                         const ReadOptions& options) {
  SS_TRY(std::string bytes, base::ReadFile(path));
  if (!LooksLikeGzip(bytes)) return ParseKinetoTrace(bytes, path, options);
  const Inflated inflated =
      InflateGzip(bytes, static_cast<size_t>(std::max<int64_t>(options.max_bytes, 0)));
  if (inflated.too_large) {
    return base::Fail(
        "TRACE-0002", base::ExitCode::kInput,
        fmt::format("the trace inflates to more than {} bytes", options.max_bytes),
        path, "record fewer steps, or raise the limit on trace size");
  }
  SS_TRY(EventStore store, ParseKinetoTrace(inflated.text, path, options));
  if (!inflated.complete && !store.truncated) {
    store.truncated = true;
    store.truncated_at = static_cast<int64_t>(inflated.text.size());
  }
  return store;
}

}  // namespace stepslack::trace
