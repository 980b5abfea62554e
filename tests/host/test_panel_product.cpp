// Panels of weights: oneDNN multiplies them by more than a plain loop, whatever this CPU is. CMakeLists.txt
// runs this for older CPUs too.
#include <cstdint>

#include <catch2/catch.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/host/matmul/packed_weight.hpp>
#include <precast/host/matmul/panel_product.hpp>
#include <precast/host/onednn/onednn.hpp>

using namespace precast;

TEST_CASE("oneDNN has code of its own for products of panels", "[panel_product]") {
  const std::int64_t rows = GENERATE(1, 5, 32, 256), columns = GENERATE(1, 33, 96, 4096);
  const std::int64_t width = GENERATE(std::int64_t{16}, std::int64_t{48}, host::widest_panel);
  const std::int64_t most = width < host::widest_panel
                                ? 1
                                : host::detail::panels_at_once(columns, host::detail::PanelUse::in_place);
  for (const std::int64_t features : {std::int64_t{1}, width - 3, most * width}) {
    CAPTURE(rows, columns, width, features);
    CHECK_FALSE(host::detail::product_of<f32>(rows, features, columns, width)->is_plain_loop());
    if (host::multiplies_bf16())
      CHECK_FALSE(host::detail::product_of<bf16>(rows, features, columns, width)->is_plain_loop());
  }
}
