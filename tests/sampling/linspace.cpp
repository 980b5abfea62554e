// linspace against torch.linspace.
#include <vector>

#include <catch2/catch.hpp>
#include <sampling/linspace.hpp>

using precast::sampling::linspace;

TEST_CASE("even values are torch.linspace's, to the bit") {
  // torch.linspace(0.1, 7.3, 23) of torch 2.15: three of these differ without fused multiply-adds.
  CHECK(linspace(0.1f, 7.3f, 23) ==
        std::vector<float>{0x1.99999ap-4f, 0x1.b586fcp-2f, 0x1.8253cap-1f, 0x1.14f20ap+0f, 0x1.68ba30p+0f,
                           0x1.bc8256p+0f, 0x1.08253ep+1f, 0x1.320950p+1f, 0x1.5bed62p+1f, 0x1.85d176p+1f,
                           0x1.afb588p+1f, 0x1.d9999ap+1f, 0x1.01bed6p+2f, 0x1.16b0e0p+2f, 0x1.2ba2e8p+2f,
                           0x1.4094f2p+2f, 0x1.5586fcp+2f, 0x1.6a7906p+2f, 0x1.7f6b0ep+2f, 0x1.945d18p+2f,
                           0x1.a94f22p+2f, 0x1.be412ap+2f, 0x1.d33334p+2f});
  CHECK(linspace(3, -1, 1) == std::vector<float>{3});
  CHECK(linspace(3, -1, 2) == std::vector<float>{3, -1});
  CHECK(linspace(3, -1, 0).empty());
}
