// What differs between LibTorch 1.13 and 2.x for the adapter to c10d; the one place of
// the project that asks for the version. In 1.13 the engines derive from ProcessGroup;
// since 2.0 they derive from Backend, and ProcessGroup only dispatches to them. The
// methods that the adapter calls are spelled the same on both. TCPStoreOptions holds a
// c10::optional in 1.13 and a std::optional in 2.x: plain values are assigned to it.
#pragma once

#include <torch/version.h>

#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

namespace stepslack::comm {

#if TORCH_VERSION_MAJOR >= 2
using PgBase = c10d::Backend;
#else
using PgBase = c10d::ProcessGroup;
#endif

}  // namespace stepslack::comm
