// PCI addresses in one spelling, so that a device is the same in every log.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace stepslack::trace {

// "00000000:9B:00.0", "0000:9b:00" (as Xid lines have it) to "0000:9b:00": lower case,
// a domain of 4 digits, no function. Other text comes back in lower case.
inline std::string PciAddress(std::string_view text) {
  const size_t domain = text.find(':');
  if (domain != std::string_view::npos && domain > 4) text.remove_prefix(domain - 4);
  text = text.substr(0, text.rfind('.'));
  std::string address(text.substr(0, 32));
  std::ranges::transform(address, address.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return address;
}

}  // namespace stepslack::trace
