#include "convolution_engine.h"

namespace stepslack::model {

std::unique_ptr<ConvolutionEngine> ConvolutionEngine::Create() { return nullptr; }

}  // namespace stepslack::model
