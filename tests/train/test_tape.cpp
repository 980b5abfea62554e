// The tape: the order of its steps, gradients that meet, and what is let go.
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/train/tape.hpp>

namespace precast::train {

using F32 = Policy<Storage<f32>>;
using F16 = Policy<Storage<f16>>;

TEST_CASE("steps run in the opposite order, each once", "[tape]") {
  Tape tape;
  std::vector<int> order;
  for (int step = 0; step < 3; ++step) tape.record([&order, step] { order.push_back(step); });
  tape.backward();
  CHECK(order == std::vector{2, 1, 0});
  tape.backward();
  CHECK(order.size() == 3);
}

TEST_CASE("a tape is empty also where a step, or what is called after it, threw", "[tape]") {
  Tape tape;
  int ran = 0;
  const auto owned = std::make_shared<int>(1);
  const auto record_two = [&](bool throws) {
    tape.record([&ran, copy = owned] { ++ran; });
    tape.record([throws] {
      if (throws) throw Error("a step");
    });
  };
  record_two(true);
  CHECK_THROWS_WITH(tape.backward(), "a step");
  CHECK(owned.use_count() == 1);
  record_two(false);
  CHECK_THROWS_WITH(tape.backward([] { throw Error("after it"); }), "after it");
  CHECK(owned.use_count() == 1);
  tape.backward();
  CHECK(ran == 0);
}

TEST_CASE("what a step owns goes as soon as it has run", "[tape]") {
  Tape tape;
  const auto owned = std::make_shared<int>(1);
  long owners = 0;
  tape.record([&owners, &owned] { owners = owned.use_count(); });
  tape.record([copy = owned] { static_cast<void>(copy); });
  CHECK(owned.use_count() == 2);
  tape.backward();
  CHECK(owners == 1);
}

TEST_CASE("gradients of two readers are added, in the dtype of the value", "[tape]") {
  const std::vector<f16> one{convert<f16>(2048.0f)}, other{convert<f16>(1.0f)};
  const auto value = variable(Tensor<f16>(Shape{1}));
  add_gradient<F16>(value, Tensor<f16>(Shape{1}, one));
  add_gradient<F16>(value, Tensor<f16>(Shape{1}, other));
  CHECK(convert<f32>(value->gradient->values()[0]) == 2048.0f);  // 2049 is no f16
  const auto wide = variable(Tensor<f32>(Shape{1}));
  add_gradient<F32>(wide, Tensor<f32>(Shape{1}, std::vector{2048.0f}));
  add_gradient<F32>(wide, Tensor<f32>(Shape{1}, std::vector{1.0f}));
  CHECK(wide->gradient->values()[0] == 2049.0f);
  CHECK_THROWS_AS(add_gradient<F32>(wide, Tensor<f32>(Shape{2})), ShapeError);
}

}  // namespace precast::train
