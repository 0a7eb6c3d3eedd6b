#include "loader.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "stepslack/base/context.h"

namespace stepslack::train {

Loader::Loader(const SampleSource& source, Sampler sampler,
               const LoaderOptions& options)
    : source_(source),
      options_(options),
      sampler_(std::move(sampler)),
      slots_(static_cast<size_t>(options.threads > 0 ? options.prefetch : 0) + 1),
      done_(options.done) {
  for (int i = 0; i < options.threads; ++i) {
    try {
      threads_.emplace_back([this](const std::stop_token& stop) { Run(stop); });
    } catch (const std::system_error&) {
      break;  // with fewer threads, or none, the batches are the same
    }
  }
  stats_.threads = static_cast<int>(threads_.size());
}

Loader::~Loader() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

Loader::Slot* Loader::Claim() {
  if (ended_) return nullptr;
  Slot& slot = SlotOf(claimed_++);
  slot.loaded.global = sampler_.BatchAfter(done_);
  done_ += static_cast<int64_t>(slot.loaded.global.indices.size());
  ended_ = slot.loaded.global.indices.empty();
  return &slot;
}

base::Status Loader::Prepare(LoadedBatch& loaded) const {
  try {
    loaded.share = RankShare(loaded.global.indices, options_.rank, options_.world_size);
    std::vector<int> transforms;
    if (options_.transforms > 1) {
      for (int64_t index : loaded.share) {
        transforms.push_back(
            sampler_.Transform(loaded.global.epoch, index, options_.transforms));
      }
    }
    return loaded.batch.Fill(source_, loaded.share, transforms, {true, options_.parts});
  } catch (const std::bad_alloc&) {
    return base::Fail(
        "TRAIN-0055", base::ExitCode::kEnvironment,
        "no memory for a batch of " + std::to_string(loaded.share.size()) + " samples",
        "loader of rank " + std::to_string(options_.rank),
        "lower global_batch or prefetch_batches");
  }
}

void Loader::Finish(Slot& slot, base::Status status) {
  if (!status.has_value()) ended_ = true;
  slot.status = std::move(status);
  slot.ready = true;
}

void Loader::Run(const std::stop_token& stop) {
  while (true) {
    Slot* slot = nullptr;
    {
      std::unique_lock lock(mutex_);
      const bool wanted = space_.wait(lock, stop, [this] {
        return ended_ || claimed_ < taken_ + options_.prefetch;
      });
      if (!wanted || stop.stop_requested()) return;
      slot = Claim();
      if (slot == nullptr) return;
    }
    base::Status status = Prepare(slot->loaded);
    const std::lock_guard lock(mutex_);
    Finish(*slot, std::move(status));
    ready_.notify_one();
    if (ended_) space_.notify_all();
  }
}

base::Result<const LoadedBatch*> Loader::Next() {
  const int64_t start_ns = base::NowNs();
  std::unique_lock lock(mutex_);
  Slot& slot = SlotOf(taken_);
  if (threads_.empty()) {
    if (Slot* claimed = Claim()) Finish(*claimed, Prepare(claimed->loaded));
  } else {
    const auto ready = [](const Slot& each) { return each.ready; };
    stats_.ready += std::count_if(slots_.begin(), slots_.end(), ready);
    if (!slot.ready) ++stats_.waits;
    ready_.wait(lock, [&] { return slot.ready; });
  }
  if (!slot.status.has_value()) return tl::unexpected(slot.status.error());
  // Training is over: the empty batch stays for later calls.
  if (slot.loaded.global.indices.empty()) return &slot.loaded;
  slot.ready = false;
  ++taken_;
  lock.unlock();
  space_.notify_one();
  const int64_t wait_ns = base::NowNs() - start_ns;
  ++stats_.batches;
  stats_.wait_ns += wait_ns;
  stats_.longest_ns = std::max(stats_.longest_ns, wait_ns);
  return &slot.loaded;
}

}  // namespace stepslack::train
