#include "stepslack/record/array_file.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <span>

#include "npy_view.h"
#include "stepslack/base/file.h"
#include "stepslack/base/text.h"

namespace stepslack::record {
namespace {

using base::ExitCode;
using base::Fail;

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr int64_t kMaxElements = int64_t{1} << 33;

tl::unexpected<base::Error> Damaged(std::string_view name, std::string what) {
  return Fail("REC-0001", ExitCode::kInput, std::move(what), std::string(name),
              "write the array again with numpy.save or numpy.savez");
}

tl::unexpected<base::Error> Unsupported(std::string_view name, std::string what) {
  return Fail("REC-0002", ExitCode::kInput, std::move(what), std::string(name),
              "save as little-endian float32 in C order");
}

// Value of a key in the header's Python dict literal, e.g. "'descr': '<f4'".
std::string_view HeaderValue(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}'", key));
  if (at == std::string_view::npos) return {};
  const size_t colon = header.find(':', at);
  if (colon == std::string_view::npos) return {};
  const std::string_view rest = base::Trim(header.substr(colon + 1));
  if (rest.empty()) return {};
  if (rest[0] == '\'') return rest.substr(1, rest.find('\'', 1) - 1);
  if (rest[0] == '(') return rest.substr(1, rest.find(')') - 1);
  return base::Trim(rest.substr(0, rest.find_first_of(",}")));
}

// Parses "96, 4, 64, 64" or "3," into a shape; false when a part is no valid length.
bool ParseShape(std::string_view text, std::vector<int64_t>& shape, int64_t& count) {
  count = 1;
  for (const std::string_view part : base::Split(text, ',')) {
    const std::string_view trimmed = base::Trim(part);
    if (trimmed.empty()) continue;
    const auto length = base::ParseInt(trimmed);
    if (!length || *length < 0 || *length > kMaxElements) return false;
    if (*length > 0 && count > kMaxElements / *length) return false;
    count *= *length;
    shape.push_back(*length);
  }
  return true;
}

template <typename T, typename Out>
void CopyAs(const char* bytes, std::span<Out> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): a byte of dtype i1 is a number
    out[i] = static_cast<Out>(value);
  }
}

template <typename Out>
void CopyValues(std::string_view dtype, const char* bytes, std::span<Out> out) {
  if (dtype == "<f4") return CopyAs<float>(bytes, out);
  if (dtype == "<f8") return CopyAs<double>(bytes, out);
  if (dtype == "<i4") return CopyAs<int32_t>(bytes, out);
  if (dtype == "<i8") return CopyAs<int64_t>(bytes, out);
  if (dtype == "|i1") return CopyAs<int8_t>(bytes, out);
  return CopyAs<uint8_t>(bytes, out);
}

size_t ElementSize(std::string_view dtype) {
  for (const auto& [name, size] : {std::pair<std::string_view, size_t>{"<f4", 4},
                                   {"<f8", 8},
                                   {"<i4", 4},
                                   {"<i8", 8},
                                   {"|u1", 1},
                                   {"|i1", 1},
                                   {"|b1", 1}}) {
    if (dtype == name) return size;
  }
  return 0;
}

}  // namespace

base::Result<NpyView> ViewNpy(std::string_view bytes, std::string_view name) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != kMagic) {
    return Damaged(name, "not a NumPy array file");
  }
  const auto byte = [&](size_t i) {
    return size_t{static_cast<unsigned char>(bytes[i])};
  };
  const size_t version = byte(6);
  if (version != 1 && version != 2) {
    return Unsupported(name, fmt::format("NumPy format {} is not read", version));
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) return Damaged(name, "header is cut short");
  size_t header_size = 0;
  for (size_t i = 0; i < length_bytes; ++i) header_size |= byte(8 + i) << (8 * i);
  const size_t data_start = 8 + length_bytes + header_size;
  if (data_start > bytes.size()) return Damaged(name, "header is cut short");
  const std::string_view header = bytes.substr(8 + length_bytes, header_size);

  NpyView view;
  view.dtype = std::string(HeaderValue(header, "descr"));
  view.element_size = ElementSize(view.dtype);
  if (view.element_size == 0) {
    return Unsupported(name, fmt::format("dtype `{}` is not read", view.dtype));
  }
  if (HeaderValue(header, "fortran_order") != "False") {
    return Unsupported(name, "Fortran order is not read");
  }
  if (!ParseShape(HeaderValue(header, "shape"), view.shape, view.count)) {
    return Damaged(name, "shape is not valid");
  }
  const size_t wanted = static_cast<size_t>(view.count) * view.element_size;
  if (bytes.size() - data_start != wanted) {
    return Damaged(name, fmt::format("shape needs {} data bytes, the file has {}",
                                     wanted, bytes.size() - data_start));
  }
  view.data = bytes.substr(data_start);
  return view;
}

void ConvertToFloats(std::string_view dtype, const char* bytes, std::span<float> out) {
  CopyValues(dtype, bytes, out);
}

void ConvertToDoubles(std::string_view dtype, const char* bytes,
                      std::span<double> out) {
  CopyValues(dtype, bytes, out);
}

void ConvertToIntegers(std::string_view dtype, const char* bytes,
                       std::span<int64_t> out) {
  CopyValues(dtype, bytes, out);
}

base::Result<FloatArray> ParseNpy(std::string_view bytes, std::string_view name) {
  SS_TRY(const NpyView view, ViewNpy(bytes, name));
  FloatArray array;
  array.dtype = view.dtype;
  array.shape = view.shape;
  array.values.resize(static_cast<size_t>(view.count));
  ConvertToFloats(view.dtype, view.data.data(), array.values);
  return array;
}

base::Result<FloatArray> ReadNpy(const std::string& path) {
  SS_TRY(const std::string bytes, base::ReadFile(path));
  return ParseNpy(bytes, path);
}

std::string EncodeNpy(const std::vector<int64_t>& shape, const float* values) {
  std::string dims;
  size_t count = 1;
  for (const int64_t length : shape) {
    dims += fmt::format("{}, ", length);
    count *= static_cast<size_t>(length);
  }
  if (shape.size() > 1) dims.resize(dims.size() - 2);
  if (shape.size() == 1) dims.resize(dims.size() - 1);
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", dims);
  // Magic, version, length and header together fill a multiple of 64 bytes.
  const size_t unpadded = 10 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\x00';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  if (count > 0)
    out.append(reinterpret_cast<const char*>(values), count * sizeof(float));
  return out;
}

base::Status WriteNpy(const std::string& path, const std::vector<int64_t>& shape,
                      const float* values) {
  return base::WriteFileAtomic(path, EncodeNpy(shape, values));
}

}  // namespace stepslack::record
