#include "file_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "record_files.h"
#include "stepslack/analyze/reduce_trace.h"
#include "stepslack/base/parallel.h"
#include "stepslack/trace/kineto_reader.h"
#include "stepslack/trace/nsys_reader.h"
#include "stepslack/trace/xplane_reader.h"

namespace stepslack::measure {
namespace {

constexpr int64_t kMostProfileBytes = int64_t{4} << 30;

trace::ReadOptions OptionsOf(const ReadSettings& settings) {
  trace::ReadOptions options;
  options.detail = trace::ReadDetail::kMeasure;
  options.names = settings.names;
  return options;
}

// Host processes: device work names the device as its process.
std::set<int64_t> ProcessesOf(const trace::EventStore& store) {
  std::vector<bool> host;
  host.reserve(store.strings.size());
  for (trace::StringId id = 0; id < store.strings.size(); ++id) {
    const trace::CategoryKind kind = trace::KindOfCategory(store.strings.Get(id));
    host.push_back(kind == trace::CategoryKind::kRuntime ||
                   kind == trace::CategoryKind::kOperator ||
                   kind == trace::CategoryKind::kAnnotation);
  }
  std::set<int64_t> processes;
  for (size_t i = 0; i < store.size(); ++i) {
    if (host[store.category[i]]) processes.insert(store.process[i]);
  }
  return processes;
}

// Equal for two files with the same events, whatever their text looks like.
uint64_t DigestOf(const trace::EventStore& store) {
  std::vector<uint64_t> text;
  text.reserve(store.strings.size());
  for (trace::StringId id = 0; id < store.strings.size(); ++id) {
    text.push_back(std::hash<std::string_view>{}(store.strings.Get(id)));
  }
  uint64_t digest = static_cast<uint64_t>(store.events_read);
  const auto mix = [&digest](uint64_t value) {
    digest = (digest ^ value) * 0x9e3779b97f4a7c15u;
    digest ^= digest >> 29;
  };
  for (size_t i = 0; i < store.size(); ++i) {
    mix(static_cast<uint64_t>(store.start_ns[i]));
    mix(static_cast<uint64_t>(store.end_ns[i]));
    mix(text[store.name[i]]);
  }
  return digest;
}

void AddTrace(const trace::EventStore& store, const std::string& name,
              FileContents& contents) {
  FileTrace file;
  file.row = contents.rows.size() - 1;
  file.processes = ProcessesOf(store);
  file.digest = DigestOf(store);
  file.trace = analyze::ReduceTrace(store, name);
  contents.rows.back().events = file.trace.events;
  contents.traces.push_back(std::move(file));
}

void ReadKinetoInto(const trace::Input& input, trace::ByteSource& source,
                    const ReadSettings& settings, FileContents& contents) {
  InputRow& row = contents.rows.back();
  auto store = trace::ReadKineto(source, input.name, OptionsOf(settings));
  if (!store) {
    row.note = store.error().what;
    row.truncated = source.damaged();
    return;
  }
  row.used = true;
  row.truncated = store->truncated;
  if (store->events_read == 0 && store->truncated) {
    row.note = "the input ends inside before its first complete event";
  }
  if (!store->several_ranks) {
    row.rank = store->file_rank;
    AddTrace(*store, input.name, contents);
    return;
  }
  // One row a rank, as if each had its own file.
  const InputRow of_file = row;
  const std::vector<trace::EventStore> ranks = store->SplitByRank();
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) contents.rows.push_back(of_file);
    contents.rows.back().rank = ranks[i].file_rank;
    contents.rows.back().note = "one of several ranks in the file";
    AddTrace(ranks[i], input.name, contents);
  }
}

// A profile of a whole host: one trace a device. SQLite needs the file itself.
base::Result<trace::DeviceTraces> ReadProfile(const trace::Input& input,
                                              trace::ByteSource& source) {
  if (input.format == trace::InputFormat::kNsys && !input.is_member) {
    return trace::ReadNsysExport(input.path);
  }
  if (input.format == trace::InputFormat::kNsys) {
    return base::Fail("MEAS-0003", base::ExitCode::kInput,
                      "an SQLite export inside an archive is not read", input.name,
                      "unpack the archive and give the folder");
  }
  SS_TRY(const std::string bytes,
         trace::ReadAll(source, input.name, kMostProfileBytes));
  return trace::ParseXplane(bytes, input.name);
}

void ReadProfileInto(const trace::Input& input, trace::ByteSource& source,
                     FileContents& contents) {
  auto profile = ReadProfile(input, source);
  if (!profile) {
    contents.rows.back().note = profile.error().what;
    return;
  }
  const InputRow of_file = contents.rows.back();
  for (size_t i = 0; i < profile->traces.size(); ++i) {
    trace::DeviceTrace& device = profile->traces[i];
    if (i > 0) contents.rows.push_back(of_file);
    InputRow& row = contents.rows.back();
    row.used = true;
    row.rank = device.store.file_rank;
    row.truncated = device.store.truncated || source.damaged();
    row.note = fmt::format("{}; {}", device.device, profile->rank_source);
    if (i == 0) device.store.stats.Merge(profile->stats);
    AddTrace(device.store, input.name, contents);
  }
}

FileContents ReadOne(const std::string& path, const ReadSettings& settings) {
  FileContents contents;
  const auto visit = [&](const trace::Input& input, trace::ByteSource& source) {
    InputRow row;
    row.name = input.name;
    row.path = input.path;
    row.format = input.format;
    contents.rows.push_back(std::move(row));
    switch (input.format) {
      case trace::InputFormat::kKineto:
        ReadKinetoInto(input, source, settings, contents);
        break;
      case trace::InputFormat::kXplane:
      case trace::InputFormat::kNsys:
        ReadProfileInto(input, source, contents);
        break;
      case trace::InputFormat::kEmpty:
        contents.rows.back().note = "the input is empty";
        break;
      case trace::InputFormat::kOpJob:
        contents.rows.back().used = true;
        contents.rows.back().note = "describes the job of an op trace";
        break;
      case trace::InputFormat::kUnknown:
        ReadMetricLog(input, source, contents.records, contents.rows.back());
        break;
      default:
        ReadRecord(input, source, settings.patterns, contents.records,
                   contents.rows.back());
        break;
    }
  };
  const auto whole = trace::VisitInputs(path, visit);
  if (!whole || !*whole) {
    InputRow row;
    row.name = path;
    row.path = path;
    row.truncated = true;
    row.note = whole ? "the archive ends inside a member" : whole.error().what;
    contents.rows.push_back(std::move(row));
  }
  return contents;
}

// Drops all but one of events that are equal in every column that says what they are.
int64_t DropRepeated(trace::EventStore& store) {
  const auto key = [&store](size_t i) {
    return std::tuple(store.start_ns[i], store.end_ns[i], store.process[i],
                      store.thread[i], store.name[i], store.category[i],
                      store.stream[i], store.correlation[i]);
  };
  std::vector<bool> keep(store.size(), true);
  int64_t repeated = 0;
  for (size_t i = 1; i < store.size(); ++i) {
    keep[i] = key(i) != key(i - 1);
    repeated += keep[i] ? 0 : 1;
  }
  if (repeated > 0) store.KeepOnly(keep);
  return repeated;
}

std::string PathOf(const std::string& name, bool is_member) {
  return is_member ? name.substr(0, name.find('!')) : name;
}

}  // namespace

std::vector<FileContents> ReadFiles(std::span<const std::string> files,
                                    const ReadSettings& settings) {
  std::vector<FileContents> contents(files.size());
  base::ParallelFor(files.size(), settings.threads,
                    [&](size_t i) { contents[i] = ReadOne(files[i], settings); });
  return contents;
}

trace::EventStore ReadTogether(std::span<const InputRow> inputs,
                               const ReadSettings& settings, int64_t& repeated) {
  trace::EventStore all;
  bool first = true;
  for (const InputRow& row : inputs) {
    const auto visit = [&](const trace::Input& input, trace::ByteSource& source) {
      if (input.name != row.name) return;
      auto store = trace::ReadKineto(source, input.name, OptionsOf(settings));
      if (!store) return;
      if (first) {
        all = std::move(*store);
        first = false;
      } else {
        all.Merge(*store);
      }
    };
    // Read a moment ago; if it is gone by now, what is left is measured.
    const bool is_member = row.name.find('!') != std::string::npos;
    (void)trace::VisitInputs(PathOf(row.name, is_member), visit);
  }
  repeated = DropRepeated(all);
  return all;
}

}  // namespace stepslack::measure
