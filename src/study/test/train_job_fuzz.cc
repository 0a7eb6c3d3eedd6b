#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "stepslack/base/file.h"
#include "stepslack/study/train_job.h"

// Any text gives a job within its ranges, or an error with an id that names a place.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  SS_CHECK(file >= 0);
  SS_CHECK(::write(file, data, size) == static_cast<ssize_t>(size));
  const auto job =
      stepslack::study::ReadTrainJob("/proc/self/fd/" + std::to_string(file));
  ::close(file);
  if (!job.has_value()) {
    SS_CHECK(job.error().id.starts_with("CONF-000"));
    SS_CHECK(!job.error().where.empty());
    return 0;
  }
  SS_CHECK(job->ranks >= 1 && job->ranks <= 1024);
  SS_CHECK(job->plan.global_batch >= 1 && job->plan.samples >= 1);
  const stepslack::study::TrainJobData& from = job->data;
  if (from.source == "arrays") {
    SS_CHECK(!from.inputs.empty());
  } else {
    SS_CHECK(from.tile >= 16 && from.tile <= 512 && from.stride >= 1);
    SS_CHECK(from.source == "embedded" || !from.folder.empty());
  }
  return 0;
}
