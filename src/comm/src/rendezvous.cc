#include "rendezvous.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

namespace stepslack::comm {
namespace {

using base::ExitCode;
using Clock = std::chrono::steady_clock;

struct Interfaces {
  Interfaces() {
    if (::getifaddrs(&first) != 0) first = nullptr;
  }
  ~Interfaces() {
    if (first != nullptr) ::freeifaddrs(first);
  }
  Interfaces(const Interfaces&) = delete;
  Interfaces& operator=(const Interfaces&) = delete;
  ifaddrs* first = nullptr;
};

class Socket {
 public:
  Socket(int family, int type)
      : descriptor_(::socket(family, type | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// A socket address of either family, from a numeric address.
struct Endpoint {
  sockaddr_storage storage{};
  socklen_t length = 0;
  bool valid() const { return length != 0; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Endpoint EndpointOf(const std::string& address, int port) {
  Endpoint endpoint;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&endpoint.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&endpoint.storage);
  if (::inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<uint16_t>(port));
    endpoint.length = sizeof *v4;
  } else if (::inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<uint16_t>(port));
    endpoint.length = sizeof *v6;
  }
  return endpoint;
}

std::string TextOf(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address == nullptr) return text;
  if (address->sa_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text,
                sizeof text);
  } else if (address->sa_family == AF_INET6) {
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr,
                text, sizeof text);
  }
  return text;
}

std::string Where(const std::string& address, int port) {
  return address + ":" + std::to_string(port);
}

// 0 when a connection was made before `until`, else the reason.
int TryConnect(const Endpoint& endpoint, Clock::time_point until) {
  const Socket socket(endpoint.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK);
  if (socket.get() < 0) return errno;
  if (::connect(socket.get(), endpoint.get(), endpoint.length) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
  pollfd wait = {socket.get(), POLLOUT, 0};
  const int ready =
      ::poll(&wait, 1, static_cast<int>(std::max<int64_t>(0, left.count())));
  if (ready == 0) return ETIMEDOUT;
  int reason = 0;
  socklen_t size = sizeof reason;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &reason, &size);
  return reason;
}

// A look-up that can be left behind: the resolver may still write into it.
struct LookUp {
  std::string host;
  addrinfo hints{};
  gaicb request{};
};

}  // namespace

base::Result<std::string> ResolveHost(const std::string& host, double timeout_seconds) {
  if (EndpointOf(host, 0).valid()) return host;
  auto look_up = std::make_unique<LookUp>();
  look_up->host = host;
  look_up->hints.ai_socktype = SOCK_STREAM;
  look_up->request.ar_name = look_up->host.c_str();
  look_up->request.ar_request = &look_up->hints;
  gaicb* list[] = {&look_up->request};
  std::string reason = "the look-up did not start";
  if (::getaddrinfo_a(GAI_NOWAIT, list, 1, nullptr) == 0) {
    const auto whole = static_cast<time_t>(timeout_seconds);
    const timespec limit = {
        whole, static_cast<long>((timeout_seconds - static_cast<double>(whole)) * 1e9)};
    const gaicb* waited[] = {&look_up->request};
    ::gai_suspend(waited, 1, &limit);
    const int state = ::gai_error(&look_up->request);
    if (state == 0 && look_up->request.ar_result != nullptr) {
      std::string address = TextOf(look_up->request.ar_result->ai_addr);
      ::freeaddrinfo(look_up->request.ar_result);
      return address;
    }
    reason =
        state == EAI_INPROGRESS ? "the look-up takes too long" : ::gai_strerror(state);
    if (state == EAI_INPROGRESS && ::gai_cancel(&look_up->request) != EAI_CANCELED) {
      (void)look_up.release();  // still in use by the resolver
    }
  }
  return base::Fail("COMM-0042", ExitCode::kEnvironment,
                    "the host of rank 0 is not known: " + reason, host,
                    "give MASTER_ADDR as a name that every host resolves, or as a "
                    "number");
}

base::Status CheckInterface(const std::string& interface) {
  const Interfaces interfaces;
  std::string usable;
  for (const ifaddrs* one = interfaces.first; one != nullptr; one = one->ifa_next) {
    const bool is_up = (one->ifa_flags & IFF_UP) != 0;
    if (!is_up || one->ifa_addr == nullptr || TextOf(one->ifa_addr).empty()) continue;
    if (interface == one->ifa_name) return {};
    const std::string name = one->ifa_name;
    if ((", " + usable + ",").find(", " + name + ",") == std::string::npos) {
      usable += (usable.empty() ? "" : ", ") + name;
    }
  }
  return base::Fail(
      "COMM-0041", ExitCode::kEnvironment,
      "no network interface of this name is up and has an address", interface,
      "set STEPSLACK_INTERFACE (or GLOO_SOCKET_IFNAME) to one of: " + usable);
}

std::string InterfaceTowards(const std::string& address) {
  // Connecting a datagram socket sends nothing; it only chooses the way.
  const Endpoint endpoint = EndpointOf(address, 9);
  if (!endpoint.valid()) return "lo";
  const Socket socket(endpoint.storage.ss_family, SOCK_DGRAM);
  sockaddr_storage local{};
  socklen_t length = sizeof local;
  if (::connect(socket.get(), endpoint.get(), endpoint.length) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&local), &length) != 0) {
    return "lo";
  }
  const std::string mine = TextOf(reinterpret_cast<const sockaddr*>(&local));
  const Interfaces interfaces;
  for (const ifaddrs* one = interfaces.first; one != nullptr; one = one->ifa_next) {
    if (TextOf(one->ifa_addr) == mine) return one->ifa_name;
  }
  return "lo";
}

base::Status CheckPortFree(int port) {
  // Any address, as the store will listen: MASTER_ADDR may be one that a switch or a
  // service translates, and so none of this host's.
  const Endpoint endpoint = EndpointOf("0.0.0.0", port);
  const Socket socket(AF_INET, SOCK_STREAM);
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // With SO_REUSEADDR a port that another program has bound may be refused only by
  // listen.
  if (::bind(socket.get(), endpoint.get(), endpoint.length) == 0 &&
      ::listen(socket.get(), 1) == 0) {
    return {};
  }
  return base::Fail(
      "COMM-0040", ExitCode::kEnvironment,
      std::string("rank 0 can not listen on this port: ") + std::strerror(errno),
      "port " + std::to_string(port),
      "set MASTER_PORT to a free one, or end the run that still has it");
}

base::Status WaitForMaster(const std::string& address, int port,
                           double timeout_seconds) {
  const Endpoint endpoint = EndpointOf(address, port);
  const auto until = Clock::now() + std::chrono::milliseconds(
                                        static_cast<int64_t>(timeout_seconds * 1000.0));
  int reason = EINVAL;
  while (endpoint.valid()) {
    reason = TryConnect(endpoint, until);
    if (reason == 0) return {};
    if (Clock::now() + std::chrono::milliseconds(50) > until) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return base::Fail("COMM-0047", ExitCode::kEnvironment,
                    std::string("rank 0 is not reachable: ") + std::strerror(reason),
                    Where(address, port),
                    "see whether rank 0 has started, and whether MASTER_ADDR, "
                    "MASTER_PORT and the firewall are right");
}

}  // namespace stepslack::comm
