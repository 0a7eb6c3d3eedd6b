#include "stepslack/comm/transport.h"

namespace stepslack::comm {

size_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return 4;
    case DType::kFloat64:
    case DType::kInt64:
      return 8;
    case DType::kBFloat16:
      return 2;
    case DType::kByte:
      break;
  }
  return 1;
}

std::string_view NameOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "Float";
    case DType::kFloat64:
      return "Double";
    case DType::kInt64:
      return "Long";
    case DType::kBFloat16:
      return "BFloat16";
    case DType::kByte:
      break;
  }
  return "Byte";
}

}  // namespace stepslack::comm
