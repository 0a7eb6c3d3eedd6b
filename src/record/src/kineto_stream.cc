#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "kineto_text.h"
#include "stepslack/base/file.h"
#include "stepslack/record/kineto_writer.h"

namespace stepslack::record {

using base::Json;

struct KinetoStream::State {
  std::string target;
  std::string temporary;  // empty: written directly, or already renamed
  int64_t base_time_ns = 0;
  gzFile file = nullptr;
  int descriptor = -1;  // of the same file, to sync it
  std::string buffer;   // text not yet handed to zlib
  bool first = true;
  std::string failure;  // why the first write did not succeed

  ~State() {
    if (file != nullptr) gzclose(file);
    if (descriptor >= 0) ::close(descriptor);
    if (!temporary.empty()) ::unlink(temporary.c_str());
  }
  void Separate() {
    if (!first) buffer += ",\n";
    first = false;
  }
  void Flush(size_t keep_below) {
    if (buffer.size() < keep_below || buffer.empty()) return;
    const auto size = static_cast<unsigned>(buffer.size());
    if (failure.empty() && gzwrite(file, buffer.data(), size) != static_cast<int>(size))
      failure = errno != 0 ? std::strerror(errno) : "the file takes no more";
    buffer.clear();
  }
};

namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;

// A path to write to directly: a device, a pipe, a terminal.
bool IsSpecial(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) &&
         !S_ISDIR(facts.st_mode);
}

}  // namespace

KinetoStream::KinetoStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
KinetoStream::KinetoStream(KinetoStream&&) noexcept = default;
KinetoStream& KinetoStream::operator=(KinetoStream&&) noexcept = default;
KinetoStream::~KinetoStream() = default;

base::Result<KinetoStream> KinetoStream::Open(const std::string& path,
                                              int64_t base_time_ns,
                                              const Json::Object& facts) {
  auto state = std::make_unique<State>();
  state->base_time_ns = base_time_ns;
  std::error_code error;
  const auto resolved = std::filesystem::canonical(path, error);
  state->target = error ? path : resolved.string();
  int descriptor = -1;
  if (IsSpecial(path)) {
    descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    const std::string folder = base::ParentFolder(state->target);
    SS_RETURN_IF_ERROR(base::MakeFolders(folder));
    std::string temporary = base::JoinPath(folder, ".tmp.XXXXXX");
    descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
    if (descriptor >= 0) {
      state->temporary = std::move(temporary);
      ::fchmod(descriptor, 0644);
    }
  }
  if (descriptor >= 0) {
    state->descriptor = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    state->file = gzdopen(descriptor, path.ends_with(".gz") ? "wb6" : "wbT");
    if (state->file == nullptr) ::close(descriptor);
  }
  if (state->file == nullptr) {
    return base::Fail("RENDER-0153", base::ExitCode::kEnvironment,
                      std::string("cannot write a trace: ") + std::strerror(errno),
                      path, "check the permissions of the folder");
  }
  Json::Object root = facts;
  root["schemaVersion"] = 1;
  root["baseTimeNanoseconds"] = base_time_ns;
  root["displayTimeUnit"] = "ms";
  state->buffer = "{\n";
  for (const auto& [key, value] : root) {
    state->buffer += QuotedJson(key) + ": " + value.Dump(-1) + ",\n";
  }
  state->buffer += "\"traceEvents\": [\n";
  return KinetoStream(std::move(state));
}

void KinetoStream::NameProcess(int64_t process, std::string_view name,
                               int64_t sort_index) {
  state_->Separate();
  fmt::format_to(std::back_inserter(state_->buffer),
                 "{{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": {0}, \"tid\": "
                 "0, \"args\": {{\"name\": {1}}}}},\n"
                 "{{\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": {0}, "
                 "\"tid\": 0, \"args\": {{\"sort_index\": {2}}}}}",
                 process, QuotedJson(name), sort_index);
}

void KinetoStream::NameThread(int64_t process, int64_t thread, std::string_view name,
                              int64_t sort_index) {
  state_->Separate();
  fmt::format_to(std::back_inserter(state_->buffer),
                 "{{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": {0}, \"tid\": "
                 "{1}, \"args\": {{\"name\": {2}}}}},\n"
                 "{{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": {0}, "
                 "\"tid\": {1}, \"args\": {{\"sort_index\": {3}}}}}",
                 process, thread, QuotedJson(name), sort_index);
}

void KinetoStream::Add(const Span& span) {
  state_->Separate();
  Span relative = span;
  relative.start_ns -= state_->base_time_ns;
  AppendKinetoSpan(relative, state_->buffer);
  state_->Flush(kBufferBytes);
}

base::Result<int64_t> KinetoStream::Finish() {
  State& state = *state_;
  state.buffer += "\n]\n}\n";
  state.Flush(0);
  const auto note = [&state](bool good) {
    if (!good && state.failure.empty()) state.failure = std::strerror(errno);
  };
  note(gzclose(std::exchange(state.file, nullptr)) == Z_OK);
  struct stat facts {};
  note(::fstat(state.descriptor, &facts) == 0);
  if (!state.temporary.empty() && state.failure.empty()) {
    note(::fsync(state.descriptor) == 0);
    if (state.failure.empty()) {
      note(::rename(state.temporary.c_str(), state.target.c_str()) == 0);
    }
    if (state.failure.empty()) state.temporary.clear();
  }
  if (!state.failure.empty()) {
    return base::Fail("RENDER-0154", base::ExitCode::kEnvironment,
                      "cannot write the trace to its end: " + state.failure,
                      state.target, "check the free space of the disk");
  }
  return static_cast<int64_t>(facts.st_size);
}

}  // namespace stepslack::record
