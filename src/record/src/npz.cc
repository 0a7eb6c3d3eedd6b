#include <fmt/format.h>
#include <zlib.h>

#include <cstring>
#include <memory>

#include "file_map.h"
#include "npy_view.h"
#include "stepslack/base/file.h"
#include "stepslack/record/array_file.h"
#include "stepslack/record/mapped_array.h"

namespace stepslack::record {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr uint32_t kEndRecord = 0x06054b50;
constexpr size_t kEndRecordSize = 22;
// Deflate never does better than this; a larger claimed size is damage, not data.
constexpr size_t kMaxDeflateRatio = 1040;

template <typename T>
void Put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
T Get(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

tl::unexpected<base::Error> Damaged(std::string_view name, std::string what) {
  return base::Fail("REC-0005", base::ExitCode::kInput, std::move(what),
                    std::string(name), "write the archive again with numpy.savez");
}

struct Entry {
  std::string name;
  uint16_t method = 0;
  uint32_t crc = 0;
  size_t packed = 0;
  size_t unpacked = 0;
  size_t offset = 0;  // of the local header
};

base::Result<std::vector<Entry>> ReadDirectory(std::string_view bytes,
                                               std::string_view name) {
  if (bytes.size() < kEndRecordSize) return Damaged(name, "not a zip archive");
  size_t end = bytes.size() - kEndRecordSize;
  while (Get<uint32_t>(bytes, end) != kEndRecord) {
    if (end == 0) return Damaged(name, "zip directory not found");
    --end;
  }
  const size_t count = Get<uint16_t>(bytes, end + 10);
  size_t at = Get<uint32_t>(bytes, end + 16);
  std::vector<Entry> entries;
  for (size_t i = 0; i < count; ++i) {
    if (at + 46 > bytes.size() || Get<uint32_t>(bytes, at) != kCentralHeader) {
      return Damaged(name, "zip directory is damaged");
    }
    Entry entry;
    entry.method = Get<uint16_t>(bytes, at + 10);
    entry.crc = Get<uint32_t>(bytes, at + 16);
    entry.packed = Get<uint32_t>(bytes, at + 20);
    entry.unpacked = Get<uint32_t>(bytes, at + 24);
    entry.offset = Get<uint32_t>(bytes, at + 42);
    const size_t name_size = Get<uint16_t>(bytes, at + 28);
    const size_t skip =
        name_size + Get<uint16_t>(bytes, at + 30) + Get<uint16_t>(bytes, at + 32);
    if (at + 46 + skip > bytes.size()) return Damaged(name, "zip directory is damaged");
    entry.name = std::string(bytes.substr(at + 46, name_size));
    at += 46 + skip;
    entries.push_back(std::move(entry));
  }
  return entries;
}

base::Result<std::string> Inflate(std::string_view packed, const Entry& entry,
                                  const std::string& name) {
  z_stream stream{};
  SS_CHECK(inflateInit2(&stream, -15) == Z_OK);
  std::string out(entry.unpacked, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = inflate(&stream, Z_FINISH);
  const bool whole = code == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!whole) return Damaged(name, "zip entry does not inflate");
  return out;
}

// The entry's bytes, checked against its CRC: a part of `bytes` when stored, inflated
// into `inflated` when deflated.
base::Result<std::string_view> Unpack(std::string_view bytes, const Entry& entry,
                                      const std::string& name, std::string& inflated) {
  if (entry.offset + 30 > bytes.size() ||
      Get<uint32_t>(bytes, entry.offset) != kLocalHeader) {
    return Damaged(name, "zip entry is damaged");
  }
  const size_t start = entry.offset + 30 + Get<uint16_t>(bytes, entry.offset + 26) +
                       Get<uint16_t>(bytes, entry.offset + 28);
  if (start + entry.packed > bytes.size() ||
      entry.unpacked > kMaxDeflateRatio * (entry.packed + 1)) {
    return Damaged(name, "zip entry is cut short");
  }
  std::string_view out = bytes.substr(start, entry.packed);
  if (entry.method == Z_DEFLATED) {
    SS_TRY(inflated, Inflate(out, entry, name));
    out = inflated;
  } else if (entry.method != 0) {
    return Damaged(name, fmt::format("zip method {} is not read", entry.method));
  }
  const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), out.size());
  if (crc != entry.crc) return Damaged(name, "zip entry fails its CRC check");
  return out;
}

// "a.npy" holds the array "a".
std::string ArrayName(const Entry& entry) {
  std::string key = entry.name;
  if (key.ends_with(".npy")) key.resize(key.size() - 4);
  return key;
}

std::string EntryHeader(const std::string& name, uint32_t crc, size_t size,
                        bool central, size_t offset) {
  std::string out;
  Put<uint32_t>(out, central ? kCentralHeader : kLocalHeader);
  if (central) Put<uint16_t>(out, 20);
  Put<uint16_t>(out, 20);    // version needed
  Put<uint16_t>(out, 0);     // flags
  Put<uint16_t>(out, 0);     // stored
  Put<uint16_t>(out, 0);     // time
  Put<uint16_t>(out, 0x21);  // date: 1980-01-01, always
  Put<uint32_t>(out, crc);
  Put<uint32_t>(out, static_cast<uint32_t>(size));
  Put<uint32_t>(out, static_cast<uint32_t>(size));
  Put<uint16_t>(out, static_cast<uint16_t>(name.size()));
  Put<uint16_t>(out, 0);
  if (central) {
    Put<uint16_t>(out, 0);  // comment
    Put<uint16_t>(out, 0);  // disk
    Put<uint16_t>(out, 0);  // internal attributes
    Put<uint32_t>(out, 0);  // external attributes
    Put<uint32_t>(out, static_cast<uint32_t>(offset));
  }
  return out + name;
}

}  // namespace

base::Result<std::map<std::string, FloatArray>> ParseNpz(std::string_view bytes,
                                                         std::string_view name) {
  SS_TRY(const std::vector<Entry> entries, ReadDirectory(bytes, name));
  std::map<std::string, FloatArray> arrays;
  for (const Entry& entry : entries) {
    const std::string place = fmt::format("{}:{}", name, entry.name);
    std::string inflated;
    SS_TRY(const std::string_view content, Unpack(bytes, entry, place, inflated));
    SS_TRY(FloatArray array, ParseNpy(content, place));
    arrays.insert_or_assign(ArrayName(entry), std::move(array));
  }
  return arrays;
}

base::Result<std::map<std::string, FloatArray>> ReadNpz(const std::string& path) {
  SS_TRY(const std::string bytes, base::ReadFile(path));
  return ParseNpz(bytes, path);
}

base::Result<std::map<std::string, MappedArray>> MapNpz(const std::string& path) {
  SS_TRY(const std::shared_ptr<const FileMap> file, FileMap::Open(path));
  SS_TRY(const std::vector<Entry> entries, ReadDirectory(file->bytes(), path));
  std::map<std::string, MappedArray> arrays;
  for (const Entry& entry : entries) {
    const std::string place = fmt::format("{}:{}", path, entry.name);
    const auto inflated = std::make_shared<std::string>();  // owned by its array
    SS_TRY(const std::string_view content,
           Unpack(file->bytes(), entry, place, *inflated));
    SS_TRY(const NpyView view, ViewNpy(content, place));
    std::shared_ptr<const void> owner = file;
    if (!inflated->empty()) owner = inflated;
    arrays.insert_or_assign(ArrayName(entry), MappedArray(view, std::move(owner)));
  }
  return arrays;
}

base::Status WriteNpz(const std::string& path,
                      const std::map<std::string, FloatArray>& arrays) {
  std::string out;
  std::string directory;
  for (const auto& [key, array] : arrays) {
    const std::string name = key + ".npy";
    const std::string content = EncodeNpy(array.shape, array.values.data());
    const auto crc = static_cast<uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
    directory += EntryHeader(name, crc, content.size(), true, out.size());
    out += EntryHeader(name, crc, content.size(), false, 0);
    out += content;
  }
  const size_t directory_start = out.size();
  out += directory;
  Put<uint32_t>(out, kEndRecord);
  Put<uint32_t>(out, 0);  // disk numbers
  Put<uint16_t>(out, static_cast<uint16_t>(arrays.size()));
  Put<uint16_t>(out, static_cast<uint16_t>(arrays.size()));
  Put<uint32_t>(out, static_cast<uint32_t>(directory.size()));
  Put<uint32_t>(out, static_cast<uint32_t>(directory_start));
  Put<uint16_t>(out, 0);
  if (out.size() > 0xffffffffu) {
    return base::Fail("REC-0006", base::ExitCode::kInput, "archive would exceed 4 GB",
                      path, "write separate .npy files");
  }
  return base::WriteFileAtomic(path, out);
}

}  // namespace stepslack::record
