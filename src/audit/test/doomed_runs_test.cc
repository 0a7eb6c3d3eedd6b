#include "stepslack/audit/doomed_runs.h"

#include <gtest/gtest.h>

namespace stepslack::audit {
namespace {}  // namespace
}  // namespace stepslack::audit
