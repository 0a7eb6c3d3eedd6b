#include "event_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "stepslack/base/text.h"
#include "stepslack/trace/exact_time.h"

namespace stepslack::trace {
namespace {

constexpr int64_t kLongestEventNs = int64_t{7} * 24 * 3600 * 1'000'000'000;
// Numbers for threads and processes that are named by text lie below this one.
constexpr int64_t kTextThreadBase = -(int64_t{1} << 40);
constexpr size_t kDeepestNesting = 10'000;

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

// A number, a number as text, or hexadecimal text; -1 and 4294967295 mean none.
int32_t StreamNumber(const JsonToken& token) {
  std::string_view text = base::Trim(token.text);
  if (text.empty()) return kNoStream;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    int64_t value = 0;
    for (const char c : text.substr(2)) {
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return kNoStream;
      // Handles of streams are addresses; 31 bits tell them apart well enough.
      value = (value * 16 + digit) & 0x7fffffff;
    }
    return static_cast<int32_t>(value);
  }
  const std::optional<int64_t> value = base::ParseInt(text);
  if (!value || *value < 0 || *value > std::numeric_limits<int32_t>::max()) {
    return kNoStream;
  }
  return static_cast<int32_t>(*value);
}

int32_t PeerOf(const RawEvent& event) {
  for (const JsonToken* token : {&event.destination_rank, &event.source_rank}) {
    const std::optional<int64_t> value = IntOf(*token);
    if (value && *value >= 0 && *value <= 100'000'000) {
      return static_cast<int32_t>(*value);
    }
  }
  return -1;
}

bool IsLaunchName(std::string_view name) {
  return name.find("Launch") != std::string_view::npos ||
         name.find("Memcpy") != std::string_view::npos ||
         name.find("Memset") != std::string_view::npos;
}

// Operators that mark a phase, a step, or the loader.
bool IsMarkName(std::string_view name) {
  static constexpr std::string_view kMarks[] = {"autograd::engine::evaluate_function",
                                                "enumerate(DataLoader)",
                                                "ProfilerStep#",
                                                "Optimizer.",
                                                "DistributedDataParallel.",
                                                "## "};
  return std::any_of(std::begin(kMarks), std::end(kMarks),
                     [name](std::string_view mark) { return name.starts_with(mark); });
}

bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c != '\\' && static_cast<unsigned char>(c) < 0x80;
  });
}

}  // namespace

void EventBuilder::Add(const RawEvent& event, int64_t offset) {
  ++store_.records_read;
  const std::string_view phase = event.phase.text;
  if (phase == "X") {
    AddComplete(event, offset);
  } else if (phase == "B") {
    Begin(event, offset);
  } else if (phase == "E") {
    End(event, offset);
  } else if (phase.size() == 1 && phase[0] > ' ' && phase[0] < 0x7f) {
    if (phase == "M" && event.name.text == "process_name") NameProcess(event);
    // Kinds of phase are few letters; anything longer is one kind, so memory stays
    // bounded.
    store_.stats.Add(fmt::format("event of phase {} not used", phase), Severity::kInfo,
                     offset);
  } else {
    store_.stats.Add("malformed event", Severity::kError, offset);
  }
}

bool EventBuilder::Times(const RawEvent& event, int64_t offset, int64_t& start,
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

void EventBuilder::AddComplete(const RawEvent& event, int64_t offset) {
  int64_t start = 0;
  int64_t end = 0;
  if (!Times(event, offset, start, end)) return;
  ++store_.events_read;
  const CategoryKind kind = KindOf(event.category);
  // Other tools take these for work of the device; they are counted, so that a
  // difference can be explained.
  if (kind == CategoryKind::kDeviceSync) {
    store_.stats.Add(kSyncOnDevice, Severity::kInfo, offset);
  } else if (kind == CategoryKind::kOperator && !event.stream.text.empty()) {
    store_.stats.Add(kOperatorOnStream, Severity::kInfo, offset);
  }
  if (detail_ == ReadDetail::kMeasure) {
    if (event.name.text == "record_param_comms") {
      const int64_t id = IntOf(event.external_id).value_or(0);
      if (id != 0) operator_args_.emplace(id, ArgsOf(event));
      return;
    }
    if (!Keep(kind, event.name.text, event)) {
      if (kind == CategoryKind::kOperator && !event.name.text.starts_with("c10d::")) {
        Cover(start, end);
      }
      return;
    }
  }
  const StringId name = Intern(event.name);
  const StringId category = Intern(event.category);
  const int32_t collective = AddCollective(event, kind, name, offset);
  store_.Append(start, end, -1, ThreadNumber(event.process), ThreadNumber(event.thread),
                category, name, collective, StreamNumber(event.stream),
                IntOf(event.correlation).value_or(0),
                IntOf(event.external_id).value_or(0));
  if (detail_ == ReadDetail::kAll && event.name.text == "record_param_comms") {
    const int64_t id = store_.external_id.back();
    if (id != 0) operator_args_.emplace(id, ArgsOf(event));
  }
}

bool EventBuilder::Keep(CategoryKind kind, std::string_view name,
                        const RawEvent& event) {
  switch (kind) {
    case CategoryKind::kKernel:
    case CategoryKind::kCopy:
    case CategoryKind::kSet:
    case CategoryKind::kAnnotation:
      return true;
    case CategoryKind::kDeviceAnnotation:
      return name.starts_with("ProfilerStep#");
    case CategoryKind::kRuntime:
      return !event.correlation.text.empty() && IsLaunchName(name);
    case CategoryKind::kOperator:
      return IsMarkName(name) || !event.collective.text.empty();
    case CategoryKind::kDeviceSync:
    case CategoryKind::kPython:
      return false;
    case CategoryKind::kOther:
      break;
  }
  return event.category.text != "overhead" && event.category.text != "Trace";
}

void EventBuilder::Cover(int64_t start, int64_t end) {
  // Nested operators follow the one around them, so most are absorbed at once.
  if (!store_.operator_cover.empty()) {
    Interval& last = store_.operator_cover.back();
    if (start >= last.start_ns && start <= last.end_ns) {
      last.end_ns = std::max(last.end_ns, end);
      return;
    }
  }
  store_.operator_cover.push_back({start, end});
}

// "rank 3", "Rank 3", "rank 3: node7": a file that holds several ranks names them so.
void EventBuilder::NameProcess(const RawEvent& event) {
  std::string_view label = event.label.text;
  if (!label.starts_with("rank ") && !label.starts_with("Rank ")) return;
  label.remove_prefix(5);
  const std::string_view digits =
      label.substr(0, std::min(label.find_first_not_of("0123456789"), label.size()));
  const std::optional<int64_t> rank = base::ParseInt(digits);
  if (rank && *rank <= 100'000'000) {
    process_ranks_[ThreadNumber(event.process)] = static_cast<int32_t>(*rank);
  }
}

void EventBuilder::ApplyProcessRanks() {
  std::set<int32_t> ranks;
  for (const auto& [process, rank] : process_ranks_) ranks.insert(rank);
  if (ranks.size() == 1 && store_.file_rank < 0) store_.file_rank = *ranks.begin();
  if (ranks.size() < 2) return;
  store_.several_ranks = true;
  for (size_t i = 0; i < store_.size(); ++i) {
    const auto found = process_ranks_.find(store_.process[i]);
    store_.rank[i] = found == process_ranks_.end() ? -1 : found->second;
  }
}

void EventBuilder::Begin(const RawEvent& event, int64_t offset) {
  const std::optional<int64_t> ts = MicrosecondsToNs(base::Trim(event.start.text));
  auto& stack = begun_[{ThreadNumber(event.process), ThreadNumber(event.thread)}];
  if (!ts || stack.size() >= kDeepestNesting) {
    store_.stats.Add("malformed event", Severity::kError, offset);
    return;
  }
  Begun begun;
  begun.start = *ts;
  begun.offset = offset;
  begun.category = Intern(event.category);
  begun.name = Intern(event.name);
  begun.stream = StreamNumber(event.stream);
  begun.correlation = IntOf(event.correlation).value_or(0);
  begun.external_id = IntOf(event.external_id).value_or(0);
  begun.has_collective = !event.collective.text.empty();
  if (begun.has_collective) begun.collective = ArgsOf(event);
  stack.push_back(begun);
}

void EventBuilder::End(const RawEvent& event, int64_t offset) {
  const std::optional<int64_t> ts = MicrosecondsToNs(base::Trim(event.start.text));
  const int64_t process = ThreadNumber(event.process);
  const int64_t thread = ThreadNumber(event.thread);
  const auto stack = begun_.find({process, thread});
  if (!ts || stack == begun_.end() || stack->second.empty()) {
    store_.stats.Add(ts ? "end without begin" : "malformed event", Severity::kError,
                     offset);
    return;
  }
  const Begun begun = stack->second.back();
  stack->second.pop_back();
  if (*ts < begun.start) {
    store_.stats.Add("negative duration set to 0", Severity::kWarning, offset);
  }
  ++store_.events_read;
  const CategoryKind kind = KindOfCategory(store_.strings.Get(begun.category));
  int32_t collective = kNoCollective;
  const std::string_view name = store_.strings.Get(begun.name);
  if (IsCollectiveSpan(name, kind, begun.has_collective, names_)) {
    CollectiveArgs args = begun.collective;
    if (!begun.has_collective) {
      args.name = store_.strings.Intern(CanonicalCollectiveName(name));
    }
    store_.collectives.push_back(args);
    collective = static_cast<int32_t>(store_.collectives.size() - 1);
  }
  // Arguments stand on the begin; what the end repeats or adds counts as well.
  const int32_t stream = StreamNumber(event.stream);
  store_.Append(begun.start, std::max(begun.start, *ts), -1, process, thread,
                begun.category, begun.name, collective,
                stream == kNoStream ? begun.stream : stream,
                IntOf(event.correlation).value_or(begun.correlation),
                IntOf(event.external_id).value_or(begun.external_id));
}

bool EventBuilder::IsNamedCollective(StringId name, CategoryKind kind) {
  const bool device = IsDeviceWork(kind);
  const size_t slot = size_t{name} * 2 + (device ? 1 : 0);
  if (slot >= name_is_collective_.size()) name_is_collective_.resize(slot * 2 + 2, 0);
  if (name_is_collective_[slot] == 0) {
    const bool is = IsCollectiveSpan(
        store_.strings.Get(name),
        device ? CategoryKind::kKernel : CategoryKind::kAnnotation, false, names_);
    name_is_collective_[slot] = is ? 2 : 1;
  }
  if (name_is_collective_[slot] == 1) return false;
  return IsCollectiveSpan(store_.strings.Get(name), kind, false, names_);
}

CollectiveArgs EventBuilder::ArgsOf(const RawEvent& event) {
  CollectiveArgs args;
  if (!event.collective.text.empty()) {
    args.name = store_.strings.Intern(
        CanonicalCollectiveName(DecodeJsonText(event.collective.text)));
  }
  args.group = Intern(event.group);
  args.seq = std::max(IntOf(event.sequence).value_or(kNoSeq), kNoSeq);
  args.group_size = std::max<int64_t>(IntOf(event.group_size).value_or(0), 0);
  args.peer = PeerOf(event);
  // For gathers the output, for scatters the input is the whole message.
  const int64_t elements = std::max(IntOf(event.in_elements).value_or(0),
                                    IntOf(event.out_elements).value_or(0));
  const int64_t element_bytes = ElementBytes(event.element_type.text);
  if (elements > 0 && element_bytes > 0 &&
      elements <= std::numeric_limits<int64_t>::max() / element_bytes) {
    args.bytes = elements * element_bytes;
  }
  return args;
}

int32_t EventBuilder::AddCollective(const RawEvent& event, CategoryKind kind,
                                    StringId name, int64_t offset) {
  const bool has_args = !event.collective.text.empty();
  const bool is = has_args
                      ? IsCollectiveSpan(store_.strings.Get(name), kind, true, names_)
                      : IsNamedCollective(name, kind);
  if (!is) return kNoCollective;
  CollectiveArgs args = ArgsOf(event);
  if (!has_args) {
    args.name =
        store_.strings.Intern(CanonicalCollectiveName(store_.strings.Get(name)));
  }
  if (args.bytes == 0) {
    store_.stats.Add("collective without a message size", Severity::kInfo, offset);
  }
  store_.collectives.push_back(args);
  return static_cast<int32_t>(store_.collectives.size() - 1);
}

// Kineto sets times before its base time, which may be months before the trace, to 0.
// Such events would stretch every span to months.
void EventBuilder::DropClampedTimes() {
  constexpr int64_t kFarFromBase = int64_t{3600} * 1'000'000'000;
  int64_t first = std::numeric_limits<int64_t>::max();
  std::vector<bool> keep(store_.size(), true);
  int64_t clamped = 0;
  for (size_t i = 0; i < store_.size(); ++i) {
    keep[i] = store_.start_ns[i] != 0;
    clamped += keep[i] ? 0 : 1;
    if (keep[i]) first = std::min(first, store_.start_ns[i]);
  }
  if (clamped == 0 || first < kFarFromBase ||
      clamped == static_cast<int64_t>(store_.size())) {
    return;
  }
  store_.KeepOnly(keep);
  store_.stats.Add("time clamped to the base time, event not used", Severity::kWarning,
                   0, clamped);
}

void EventBuilder::Finish(int64_t base_time_ns) {
  for (auto& [thread, stack] : begun_) {
    for (const Begun& begun : stack) {
      store_.stats.Add("begin without end", Severity::kWarning, begun.offset);
    }
  }
  if (base_time_ns != 0) DropClampedTimes();
  for (size_t i = 0; i < store_.size(); ++i) {
    store_.start_ns[i] += base_time_ns;
    store_.end_ns[i] += base_time_ns;
    if (store_.collective[i] == kNoCollective || store_.external_id[i] == 0) continue;
    CollectiveArgs& args =
        store_.collectives[static_cast<size_t>(store_.collective[i])];
    if (args.group_size != 0 || args.bytes != 0) continue;
    const auto found = operator_args_.find(store_.external_id[i]);
    if (found == operator_args_.end() || found->second.group_size == 0) continue;
    const StringId name = args.name;
    args = found->second;
    if (args.name == 0) args.name = name;
    store_.stats.Add("collective described by its operator", Severity::kInfo, 0);
  }
  ApplyProcessRanks();
  for (Interval& cover : store_.operator_cover) {
    cover.start_ns += base_time_ns;
    cover.end_ns += base_time_ns;
  }
}

StringId EventBuilder::Intern(const JsonToken& token) {
  return IsPlain(token.text) ? store_.strings.Intern(token.text)
                             : store_.strings.Intern(DecodeJsonText(token.text));
}

CategoryKind EventBuilder::KindOf(const JsonToken& category) {
  if (!has_last_category_ || category.text != last_category_) {
    has_last_category_ = true;
    last_category_ = std::string(category.text);
    last_kind_ = KindOfCategory(category.text);
  }
  return last_kind_;
}

}  // namespace stepslack::trace
