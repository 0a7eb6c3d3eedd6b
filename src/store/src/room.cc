#include "stepslack/store/room.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "ledger.h"
#include "stepslack/base/context.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"

namespace stepslack::store {
namespace {

using base::ExitCode;
using base::Fail;
using base::JoinPath;

constexpr uint64_t kMinFreeBytes = 64ull << 20;
constexpr std::string_view kMarker = "stepslack.toml";

// Owns the lock file's descriptor; the kernel drops the lock when the process dies.
class RoomLock {
 public:
  RoomLock() = default;
  explicit RoomLock(int descriptor) : descriptor_(descriptor) {}
  RoomLock(RoomLock&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  RoomLock& operator=(RoomLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~RoomLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  int descriptor_ = -1;
};

base::Result<RoomLock> TakeLock(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return Fail("STORE-0007", ExitCode::kEnvironment,
                fmt::format("cannot open the lock: {}", std::strerror(errno)), path,
                "check permissions of the room");
  }
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor);
    return Fail("STORE-0002", ExitCode::kEnvironment,
                "the room is in use by another stepslack process", path,
                "wait for it to end, or give another --room");
  }
  return RoomLock(descriptor);
}

// Makes the marker in a new or empty folder; refuses to adopt a folder with other
// content.
base::Status Adopt(const std::string& path) {
  if (base::PathExists(JoinPath(path, kMarker))) return {};
  if (base::PathExists(path)) {
    if (!base::IsFolder(path)) {
      return Fail("STORE-0008", ExitCode::kUsage, "not a folder", path,
                  "give a folder as --room");
    }
    SS_TRY(const auto names, base::ListFolder(path));
    const bool only_ours =
        names.empty() || (names.size() == 1 && names[0] == ".stepslack");
    if (!only_ours) {
      return Fail("STORE-0001", ExitCode::kUsage,
                  "the folder has content but is no stepslack room", path,
                  "give an empty or new folder as --room");
    }
  }
  return base::WriteFileAtomic(
      JoinPath(path, kMarker),
      "# A stepslack room. See docs/formats.md.\nschema = 1\n");
}

int64_t FileSize(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_size : -1;
}

}  // namespace

struct Room::State {
  std::string path;
  std::string hidden;  // path/.stepslack
  RoomLock lock;
  Ledger ledger;
};

Room::Room(std::unique_ptr<State> state) : state_(std::move(state)) {}
Room::Room(Room&&) noexcept = default;
Room& Room::operator=(Room&&) noexcept = default;
Room::~Room() = default;

base::Result<Room> Room::Open(const std::string& path) {
  SS_RETURN_IF_ERROR(base::MakeFolders(path));
  SS_RETURN_IF_ERROR(Adopt(path));
  SS_TRY(const uint64_t free, base::FreeBytes(path));
  if (free < kMinFreeBytes) {
    return Fail(
        "STORE-0003", ExitCode::kEnvironment,
        fmt::format("only {} MiB are free, at least 64 MiB are needed", free >> 20),
        path, "free some space, or give a --room on another disk");
  }
  const std::string hidden = JoinPath(path, ".stepslack");
  for (const char* folder : {"objects", "runs"}) {
    SS_RETURN_IF_ERROR(base::MakeFolders(JoinPath(hidden, folder)));
  }
  SS_TRY(RoomLock lock, TakeLock(JoinPath(hidden, "lock")));
  std::error_code
      ignored;  // leftovers of a killed process; failing to remove is harmless
  std::filesystem::remove_all(JoinPath(hidden, "scratch"), ignored);
  SS_RETURN_IF_ERROR(base::MakeFolders(JoinPath(hidden, "scratch")));
  SS_TRY(Ledger ledger, Ledger::Open(JoinPath(hidden, "ledger.db")));
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error).lexically_normal();
  return Room(std::make_unique<State>(
      State{.path = error ? path : absolute.string(),
            .hidden = error ? hidden : JoinPath(absolute.string(), ".stepslack"),
            .lock = std::move(lock),
            .ledger = std::move(ledger)}));
}

const std::string& Room::path() const { return state_->path; }
std::string Room::RunsFolder() const { return JoinPath(state_->hidden, "runs"); }
std::string Room::ScratchFolder() const { return JoinPath(state_->hidden, "scratch"); }

std::string Room::ObjectPath(std::string_view sha256) const {
  return fmt::format("{}/objects/{}/{}", state_->hidden, sha256.substr(0, 2), sha256);
}

base::Result<std::string> Room::PutBytes(std::string_view bytes) {
  std::string digest = base::Sha256Of(bytes);
  const std::string path = ObjectPath(digest);
  if (FileSize(path) == static_cast<int64_t>(bytes.size())) return digest;
  SS_RETURN_IF_ERROR(base::WriteFileAtomic(path, bytes));
  return digest;
}

base::Result<std::string> Room::PutFile(const std::string& path) {
  SS_TRY(std::string digest, base::Sha256OfFile(path));
  const std::string target = ObjectPath(digest);
  SS_RETURN_IF_ERROR(base::MakeFolders(base::ParentFolder(target)));
  if (::rename(path.c_str(), target.c_str()) != 0) {
    return Fail("STORE-0009", ExitCode::kEnvironment,
                fmt::format("cannot move into the room: {}", std::strerror(errno)),
                path, "check free space and permissions of the room");
  }
  return digest;
}

base::Result<std::string> Room::GetBytes(std::string_view sha256) const {
  SS_TRY(std::string bytes, base::ReadFile(ObjectPath(sha256)));
  if (base::Sha256Of(bytes) != sha256) {
    return Fail("STORE-0005", ExitCode::kIntegrity, "object does not match its digest",
                ObjectPath(sha256), "delete the file and run again; it is recomputed");
  }
  return bytes;
}

base::Result<std::optional<StageOutput>> Room::FindStage(std::string_view name,
                                                         std::string_view key) const {
  SS_TRY(const auto text, state_->ledger.FindStage(name, key));
  if (!text) return std::optional<StageOutput>();
  SS_TRY(const base::Json json, base::ParseJson(*text, "ledger"));
  StageOutput output{.value = json["value"], .objects = {}};
  for (const auto& [object, entry] : json["objects"].AsObject()) {
    const std::string& digest = entry["sha256"].AsString();
    if (FileSize(ObjectPath(digest)) != entry["bytes"].AsInt(-2)) {
      return std::optional<StageOutput>();
    }
    output.objects[object] = digest;
  }
  return std::optional<StageOutput>(std::move(output));
}

base::Status Room::SaveStage(std::string_view name, std::string_view key,
                             const StageOutput& output, double seconds) {
  base::Json json;
  json.Set("value", output.value);
  base::Json objects{base::Json::Object{}};
  for (const auto& [object, digest] : output.objects) {
    base::Json entry;
    entry.Set("sha256", digest);
    entry.Set("bytes", FileSize(ObjectPath(digest)));
    objects.Set(object, std::move(entry));
  }
  json.Set("objects", std::move(objects));
  return state_->ledger.SaveStage({.name = std::string(name),
                                   .key = std::string(key),
                                   .created_utc = base::UtcNow(),
                                   .seconds = seconds},
                                  json.Dump(-1));
}

base::Result<std::vector<StageEntry>> Room::Stages() const {
  return state_->ledger.Stages();
}

}  // namespace stepslack::store
