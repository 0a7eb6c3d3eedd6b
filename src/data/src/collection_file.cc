#include "stepslack/data/collection_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>

#include "map_planes.h"
#include "stepslack/base/digest.h"
#include "stepslack/base/file.h"
#include "stepslack/base/json.h"

namespace stepslack::data {
namespace {

using base::ExitCode;
using base::Fail;
using base::Json;

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "SSMAPS1\n";
constexpr std::string_view kSchema = "stepslack.maps/1";
constexpr size_t kDigestSize = 64;
constexpr int64_t kMaxSide = 1 << 20;
constexpr size_t kMaxChannels = 1024;

tl::unexpected<base::Error> Damaged(std::string_view name, std::string what) {
  return Fail("DATA-0080", ExitCode::kIntegrity, std::move(what), std::string(name),
              "the cached maps are damaged: delete the file, it will be made again");
}

Json HeaderOf(const MapCollection& collection) {
  Json header;
  header.Set("schema", kSchema);
  header.Set("target_name", collection.target_name);
  header.Set("target_unit", collection.target_unit);
  Json channels(Json::Array{});
  for (const Channel& channel : collection.channels) {
    Json one;
    one.Set("name", channel.name).Set("unit", channel.unit);
    one.Set("categorical", channel.categorical);
    channels.Append(std::move(one));
  }
  header.Set("channels", std::move(channels));
  Json maps(Json::Array{});
  for (const WholeMap& map : collection.maps) {
    Json one;
    one.Set("id", map.id).Set("group", map.group).Set("source", map.source);
    one.Set("height", map.height).Set("width", map.width);
    maps.Append(std::move(one));
  }
  header.Set("maps", std::move(maps));
  return header;
}

// A temporary file that becomes `path` on Commit and vanishes otherwise.
class FileBuilder {
 public:
  explicit FileBuilder(std::string path)
      : path_(std::move(path)),
        temporary_(fmt::format("{}.{}.tmp", path_, ::getpid())) {}
  FileBuilder(const FileBuilder&) = delete;
  FileBuilder& operator=(const FileBuilder&) = delete;
  ~FileBuilder() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!committed_) ::unlink(temporary_.c_str());
  }

  base::Status Open() {
    SS_RETURN_IF_ERROR(base::MakeFolders(base::ParentFolder(path_)));
    descriptor_ =
        ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return descriptor_ >= 0 ? base::Status{} : CannotWrite();
  }

  base::Status Write(const void* data, size_t size) {
    hash_.Update(data, size);
    return WriteRaw(static_cast<const char*>(data), size);
  }

  base::Status Commit() {
    const std::string digest = hash_.Finish();
    SS_RETURN_IF_ERROR(WriteRaw(digest.data(), digest.size()));
    const bool synced = ::fsync(descriptor_) == 0;
    const bool closed = ::close(descriptor_) == 0;
    descriptor_ = -1;
    if (!synced || !closed) return CannotWrite();
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return CannotWrite();
    committed_ = true;
    return {};
  }

 private:
  base::Status WriteRaw(const char* data, size_t size) {
    while (size > 0) {
      const ssize_t written = ::write(descriptor_, data, size);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return CannotWrite();
      data += written;
      size -= static_cast<size_t>(written);
    }
    return {};
  }

  base::Status CannotWrite() const {
    return Fail("DATA-0083", ExitCode::kEnvironment,
                fmt::format("the file can not be written: {}", std::strerror(errno)),
                path_, "check permissions and free space");
  }

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  bool committed_ = false;
  base::Sha256 hash_;
};

// Reads `size` bytes to `to`; false when there are fewer.
using ReadBytes = std::function<bool(void* to, size_t size)>;

// Takes bytes from a source of known size and hashes them on the way.
class Source {
 public:
  Source(ReadBytes read, uint64_t size) : read_(std::move(read)), left_(size) {}

  uint64_t left() const { return left_; }
  bool Take(void* to, size_t size) {
    if (size > left_ || !read_(to, size)) return false;
    left_ -= size;
    hash_.Update(to, size);
    return true;
  }
  // The last bytes of the file, which are not part of the digest.
  bool TakeDigest(std::string& to) {
    to.resize(kDigestSize);
    return left_ == kDigestSize && read_(to.data(), kDigestSize);
  }
  std::string Digest() { return hash_.Finish(); }

 private:
  ReadBytes read_;
  uint64_t left_;
  base::Sha256 hash_;
};

base::Result<std::string> ReadHeaderText(Source& source, std::string_view name) {
  std::array<char, kMagic.size()> magic{};
  uint64_t length = 0;
  if (!source.Take(magic.data(), magic.size()) ||
      std::string_view(magic.data(), magic.size()) != kMagic) {
    return Damaged(name, "this is not a file of maps");
  }
  if (!source.Take(&length, sizeof length) || length > source.left()) {
    return Damaged(name, "the file ends before its header");
  }
  std::string text(static_cast<size_t>(length), '\0');
  if (!source.Take(text.data(), text.size())) {
    return Damaged(name, "the header can not be read");
  }
  return text;
}

base::Result<MapCollection> CollectionFromHeader(const Json& header,
                                                 std::string_view name) {
  if (header["schema"].AsString() != kSchema) {
    return Damaged(name, fmt::format("the header is not of schema {}", kSchema));
  }
  MapCollection collection;
  collection.target_name = header["target_name"].AsString();
  collection.target_unit = header["target_unit"].AsString();
  for (const Json& one : header["channels"].AsArray()) {
    collection.channels.push_back(
        {one["name"].AsString(), one["unit"].AsString(), one["categorical"].AsBool()});
  }
  if (collection.channels.size() > kMaxChannels) {
    return Damaged(name, "the header names too many channels");
  }
  std::set<std::string> ids;
  for (const Json& one : header["maps"].AsArray()) {
    WholeMap map;
    map.id = one["id"].AsString();
    map.group = one["group"].AsString();
    map.source = one["source"].AsString();
    map.height = one["height"].AsInt();
    map.width = one["width"].AsInt();
    if (map.height < 1 || map.width < 1 || map.height > kMaxSide ||
        map.width > kMaxSide || !ids.insert(map.id).second) {
      return Damaged(name, fmt::format("map \"{}\" has no valid shape or occurs twice",
                                       map.id.substr(0, 80)));
    }
    collection.maps.push_back(std::move(map));
  }
  return collection;
}

size_t PlaneSize(const WholeMap& map) {
  return static_cast<size_t>(map.height) * static_cast<size_t>(map.width);
}

// The sizes are checked before anything is allocated: a header can not ask for more
// memory than the file has bytes.
base::Status CheckSizes(const MapCollection& collection, const Source& source,
                        std::string_view name) {
  uint64_t need = kDigestSize;
  for (const WholeMap& map : collection.maps) {
    need += PlaneSize(map) * (collection.channels.size() + 1) * sizeof(float);
    if (need > source.left()) break;
  }
  if (need == source.left()) return {};
  return Damaged(name,
                 fmt::format("{} bytes follow the header, which do not fit the {} "
                             "maps it lists",
                             source.left(), collection.maps.size()));
}

base::Result<MapCollection> ReadFrom(Source& source, std::string_view name) {
  SS_TRY(const std::string text, ReadHeaderText(source, name));
  const auto header = base::ParseJson(text, name);
  if (!header.has_value()) return Damaged(name, header.error().what);
  SS_TRY(MapCollection collection, CollectionFromHeader(*header, name));
  SS_RETURN_IF_ERROR(CheckSizes(collection, source, name));
  for (WholeMap& map : collection.maps) {
    const size_t size = PlaneSize(map);
    map.channels.resize(collection.channels.size());
    for (size_t p = 0; p <= map.channels.size(); ++p) {
      auto& plane = p < map.channels.size() ? map.channels[p] : map.target;
      plane.resize(size);
      if (!source.Take(plane.data(), size * sizeof(float))) {
        return Damaged(name,
                       fmt::format("the values of map \"{}\" can not be read", map.id));
      }
    }
  }
  std::string stored;
  if (!source.TakeDigest(stored)) return Damaged(name, "the digest can not be read");
  if (source.Digest() != stored) {
    return Fail("DATA-0081", ExitCode::kIntegrity,
                "the content does not match the digest at its end", std::string(name),
                "delete the file, it will be made again");
  }
  return collection;
}

}  // namespace

base::Status WriteCollection(const MapCollection& collection, const std::string& path) {
  FileBuilder file(path);
  SS_RETURN_IF_ERROR(file.Open());
  const std::string header = HeaderOf(collection).Dump(-1);
  const uint64_t length = header.size();
  SS_RETURN_IF_ERROR(file.Write(kMagic.data(), kMagic.size()));
  SS_RETURN_IF_ERROR(file.Write(&length, sizeof length));
  SS_RETURN_IF_ERROR(file.Write(header.data(), header.size()));
  for (const WholeMap& map : collection.maps) {
    SS_CHECK(map.channels.size() == collection.channels.size());
    for (const auto* plane : PlanesOf(map)) {
      SS_CHECK(plane->size() == PlaneSize(map));
      SS_RETURN_IF_ERROR(file.Write(plane->data(), plane->size() * sizeof(float)));
    }
  }
  return file.Commit();
}

base::Result<MapCollection> ReadCollection(const std::string& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? static_cast<std::streamoff>(stream.tellg()) : -1;
  if (size < 0 || base::IsFolder(path)) {
    return Fail("DATA-0082", ExitCode::kInput, "the file can not be opened", path,
                "check the path and the permissions");
  }
  stream.seekg(0);
  Source source(
      [&stream](void* to, size_t wanted) {
        stream.read(static_cast<char*>(to), static_cast<std::streamsize>(wanted));
        return static_cast<size_t>(stream.gcount()) == wanted;
      },
      static_cast<uint64_t>(size));
  return ReadFrom(source, path);
}

base::Result<MapCollection> ParseCollection(std::string_view bytes,
                                            std::string_view name) {
  size_t position = 0;
  Source source(
      [&](void* to, size_t wanted) {
        if (wanted > bytes.size() - position) return false;
        if (wanted > 0) std::memcpy(to, bytes.data() + position, wanted);
        position += wanted;
        return true;
      },
      bytes.size());
  return ReadFrom(source, name);
}

}  // namespace stepslack::data
