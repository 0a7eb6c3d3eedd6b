// A link that is slower than the machine's own: a transport that adds the time which an
// alpha-beta model of a network gives, for tests and what-if runs on one host. The
// model is Hockney's (Parallel Computing 20, 1994): a message of S bytes takes latency
// + 8 S / bandwidth; collectives are sums of such messages over the steps of the usual
// algorithms (Thakur, Rabenseifner, Gropp, IJHPCA 19, 2005).
#pragma once

#include <cstdint>
#include <memory>

#include "stepslack/comm/transport.h"

namespace stepslack::comm {

struct LinkModelOptions {
  double latency_us = 0;  // of every message
  double megabits = 0;    // per second, of every rank's link; 0: unlimited
  double loss = 0;        // share of messages that are sent twice, 0 to 1
  uint64_t seed = 1;      // of the losses; the same on every rank
  double timeout_seconds = 60;
  bool enabled() const { return latency_us > 0 || megabits > 0; }
};

// What one rank sends one after the other in a collective.
struct MessagePlan {
  int messages = 0;  // in sequence, none overlaps another
  double bytes_each = 0;
};

// `bytes`: of the whole vector for all_reduce and broadcast; of one rank's block for
// reduce_scatter, all_gather and all_to_all; of the message for send.
MessagePlan AllReducePlan(int ranks, size_t bytes);  // ring: 2 (n - 1) parts of 1 / n
MessagePlan BlocksPlan(int ranks, size_t bytes);     // n - 1 blocks
MessagePlan TreePlan(int ranks, size_t bytes);       // ceil(log2 n) times everything

// Seconds of a plan in which `resent` messages are sent twice.
double ModelledSeconds(const LinkModelOptions& options, const MessagePlan& plan,
                       int resent);

// The same operations, each followed by a pause of the modelled time. A pause beyond
// the time-out is a time-out, as it would be on the real link. The name is that of the
// inner one with "+link", so that a modelled run is never taken for a measured one.
std::unique_ptr<Transport> WithLinkModel(std::unique_ptr<Transport> inner,
                                         const LinkModelOptions& options);

// Returns after `seconds`, never earlier: sleeps, and spins for the last part.
void PauseFor(double seconds);

}  // namespace stepslack::comm
