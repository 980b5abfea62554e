#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include <sampling/linspace.hpp>
#include <sampling/noise_schedule.hpp>

#include <precast/error.hpp>
#include <precast/io/number_text.hpp>

namespace precast::sampling {
namespace {

/// The last alphas_cumprod for samplers over sigmas where it would be 0, as in diffusers.
constexpr f32 nearly_all_noise = 0x1p-24f;

/// numpy.linspace.
std::vector<double> even_places(double first, double last, std::int64_t count) {
  std::vector<double> values;
  const double gap = count > 1 ? (last - first) / static_cast<double>(count - 1) : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double away = static_cast<double>(i) * gap;
    values.push_back(away + first);
  }
  if (count > 1) values.back() = last;
  return values;
}

std::vector<f32> cosine_betas(std::int64_t count) {
  const auto alpha_bar = [](double time) {
    const double cosine = std::cos((time + 0.008) / 1.008 * std::numbers::pi / 2);
    return cosine * cosine;
  };
  std::vector<f32> betas;
  const auto total = static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    const double lost =
        1 - alpha_bar(static_cast<double>(i + 1) / total) / alpha_bar(static_cast<double>(i) / total);
    betas.push_back(static_cast<f32>(std::min(lost, 0.999)));
  }
  return betas;
}

std::vector<f32> betas_of(const SamplerSettings& settings) {
  const std::int64_t count = settings.num_train_timesteps;
  switch (settings.beta_schedule) {
    case BetaSchedule::trained:
      return settings.trained_betas;
    case BetaSchedule::squaredcos_cap_v2:
      return cosine_betas(count);
    case BetaSchedule::linear:
      return linspace(static_cast<f32>(settings.beta_start), static_cast<f32>(settings.beta_end), count);
    case BetaSchedule::scaled_linear:
      break;
  }
  std::vector<f32> betas = linspace(static_cast<f32>(std::sqrt(settings.beta_start)),
                                    static_cast<f32>(std::sqrt(settings.beta_end)), count);
  for (f32& beta : betas) beta *= beta;
  return betas;
}

/// The cumulative products of 1 - beta (alphas_cumprod), computed in double and rounded to f32.
std::vector<f32> products_of_rest(const std::vector<f32>& betas) {
  std::vector<f32> products;
  double product = 1;
  for (const f32 beta : betas) {
    product *= static_cast<double>(1.0f - beta);
    products.push_back(static_cast<f32>(product));
  }
  return products;
}

/// Betas with zero terminal SNR (Lin et al. 2023, algorithm 1).
std::vector<f32> rescaled_betas(const std::vector<f32>& betas) {
  std::vector<f32> alphas = products_of_rest(betas);
  for (f32& value : alphas) value = std::sqrt(value);
  const f32 first = alphas.front(), last = alphas.back();
  const f32 stretch = first / (first - last);
  for (f32& value : alphas) {
    const f32 shifted = value - last;
    const f32 stretched = shifted * stretch;
    value = stretched * stretched;
  }
  std::vector<f32> rescaled{1.0f - alphas.front()};
  for (std::size_t i = 1; i < alphas.size(); ++i) rescaled.push_back(1.0f - alphas[i] / alphas[i - 1]);
  return rescaled;
}

bool counts_in_sigmas(SamplerKind kind) {
  return kind == SamplerKind::euler || kind == SamplerKind::euler_a || is_dpmpp(kind);
}

/// The natural logarithm of a positive normal number, bit-identical to NumPy with AVX2, where a fifth of
/// the results are not correctly rounded. Between high noise levels the last bit is 1e-4 of a timestep.
f32 numpy_log(f32 value) {
  constexpr std::array<f32, 6> above{0.0f,
                                     9.999999999999998702752e-01f,
                                     2.112677543073053063722e+00f,
                                     1.480000633576506585156e+00f,
                                     3.808837741388407920751e-01f,
                                     2.589979117907922693523e-02f},
      below{1.0f,
            2.612677543073109236779e+00f,
            2.453006071784736363091e+00f,
            9.864942958519418960339e-01f,
            1.546476374983906719538e-01f,
            5.875095403124574342950e-03f};
  int exponent = 0;
  f32 rest = std::frexp(value, &exponent);
  if (rest < std::numbers::sqrt2_v<f32> / 2) {
    rest += rest;
    --exponent;
  }
  rest -= 1;
  const auto polynomial = [rest](const std::array<f32, 6>& coefficients) {
    f32 sum = coefficients.back();
    for (std::size_t i = coefficients.size() - 1; i-- > 0;) sum = std::fma(sum, rest, coefficients[i]);
    return sum;
  };
  return std::fma(static_cast<f32>(exponent), std::numbers::ln2_v<f32>,
                  polynomial(above) / polynomial(below));
}

/// Sigmas that are equidistant in their seventh roots (Karras et al. 2022, equation 5).
std::vector<double> karras_sigmas(double most, double least, std::int64_t steps) {
  constexpr double rho = 7;
  const double high = std::pow(most, 1 / rho), low = std::pow(least, 1 / rho);
  std::vector<double> sigmas = even_places(0, 1, steps);
  for (double& sigma : sigmas) {
    const double away = sigma * (low - high);
    sigma = std::pow(high + away, rho);
  }
  return sigmas;
}

/// Sigmas that are equidistant in their logarithms.
std::vector<double> exponential_sigmas(double most, double least, std::int64_t steps) {
  std::vector<double> sigmas = even_places(std::log(most), std::log(least), steps);
  for (double& sigma : sigmas) sigma = std::exp(sigma);
  return sigmas;
}

std::vector<double> descending(std::vector<double> values) {
  std::ranges::reverse(values);
  return values;
}

}  // namespace

std::vector<f32> alphas_cumprod(const SamplerSettings& settings) {
  const std::vector<f32> betas = betas_of(settings);
  const bool rescaled = settings.rescale_betas_zero_snr;
  std::vector<f32> alphas = products_of_rest(rescaled ? rescaled_betas(betas) : betas);
  const bool keeps_something = rescaled ? !std::isnan(alphas.back()) : alphas.back() > 0;
  if (!keeps_something || !(alphas.front() < 1) || !(alphas.front() > alphas.back()))
    throw InputError("the scheduler's betas, from " + std::to_string(betas.front()) + " to " +
                     std::to_string(betas.back()) + " over " + std::to_string(betas.size()) +
                     " timesteps, leave " + (keeps_something ? "all" : "nothing") +
                     " of a picture at the last: correct beta_start, beta_end or trained_betas");
  if (rescaled && counts_in_sigmas(settings.kind)) alphas.back() = nearly_all_noise;
  return alphas;
}

std::vector<f32> sigmas_of(const std::vector<f32>& alphas) {
  std::vector<f32> sigmas;
  sigmas.reserve(alphas.size());
  for (const f32 alpha : alphas) sigmas.push_back(std::sqrt((1.0f - alpha) / alpha));
  // The exact root is 2^-39 from the midpoint between two numbers. PyTorch's square root (MKL's) rounds up;
  // later steps carry the last bit to latents that are hundreds of times smaller.
  if (alphas.back() == nearly_all_noise) sigmas.back() = 4096;
  return sigmas;
}

std::vector<double> spaced_timesteps(const SamplerSettings& settings, std::int64_t steps, std::int64_t last) {
  const bool is_euler = settings.kind == SamplerKind::euler || settings.kind == SamplerKind::euler_a;
  // dpmpp spaces one timestep more than there are steps, and drops the lowest.
  const bool one_more = counts_in_sigmas(settings.kind) && !is_euler;
  const std::int64_t count = steps + (one_more ? 1 : 0);
  std::vector<double> timesteps;
  switch (settings.timestep_spacing) {
    case TimestepSpacing::linspace:
      timesteps = descending(even_places(0, static_cast<double>(last - 1), count));
      for (double& timestep : timesteps)
        timestep = is_euler ? static_cast<double>(static_cast<f32>(timestep)) : std::nearbyint(timestep);
      break;
    case TimestepSpacing::leading: {
      const std::int64_t gap = last / count;
      for (std::int64_t i = count - 1; i >= 0; --i)
        timesteps.push_back(static_cast<double>(i * gap + settings.steps_offset));
      break;
    }
    case TimestepSpacing::trailing: {
      const double gap = static_cast<double>(settings.num_train_timesteps) / static_cast<double>(steps);
      const auto first = static_cast<double>(last);
      const double down = (first - gap) - first;  // with the rounding of numpy.arange's step
      for (std::int64_t i = 0; i < steps; ++i) {
        const double place = first + static_cast<double>(i) * down;
        if (place > 0) timesteps.push_back(std::nearbyint(place) - 1);
      }
      return timesteps;
    }
  }
  timesteps.resize(static_cast<std::size_t>(steps));
  return timesteps;
}

std::vector<double> lcm_timesteps(const SamplerSettings& settings, std::int64_t steps, double strength) {
  const std::int64_t original = settings.original_inference_steps;
  const std::int64_t apart = settings.num_train_timesteps / original;
  const auto available = static_cast<std::int64_t>(static_cast<double>(original) * strength);
  if (available < steps)
    throw InputError("lcm has " + std::to_string(available) + " timesteps (original_inference_steps " +
                     std::to_string(original) + ", strength " + io::shortest(strength) + ") for " +
                     std::to_string(steps) + " steps: take no more steps than that");
  std::vector<double> timesteps;
  const double gap = static_cast<double>(available) / static_cast<double>(steps);
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto skipped = static_cast<std::int64_t>(std::floor(static_cast<double>(i) * gap));
    timesteps.push_back(static_cast<double>((available - skipped) * apart - 1));
  }
  return timesteps;
}

std::vector<double> sigmas_at(const std::vector<f32>& sigmas, const std::vector<double>& timesteps) {
  std::vector<double> result;
  const std::size_t end = sigmas.size() - 1;
  for (const double timestep : timesteps) {
    const double place = std::clamp(timestep, 0.0, static_cast<double>(end));
    const auto below = static_cast<std::size_t>(place);
    const double low = sigmas[below], high = sigmas[std::min(below + 1, end)];
    const double rise = (high - low) * (place - static_cast<double>(below));
    result.push_back(rise + low);
  }
  return result;
}

std::vector<double> sigmas_by_formula(const SamplerSettings& settings, double most, double least,
                                      std::int64_t steps) {
  const double high = settings.sigma_max.value_or(most), low = settings.sigma_min.value_or(least);
  return settings.sigma_spacing == SigmaSpacing::karras ? karras_sigmas(high, low, steps)
                                                        : exponential_sigmas(high, low, steps);
}

std::vector<double> timesteps_of_sigmas(const std::vector<f32>& sigmas, const std::vector<double>& wanted) {
  std::vector<f32> logarithms;
  logarithms.reserve(sigmas.size());
  for (const f32 sigma : sigmas) logarithms.push_back(numpy_log(sigma));
  std::vector<double> timesteps;
  for (const double sigma : wanted) {
    const double logarithm = std::log(std::max(sigma, 1e-10));
    const auto above = std::ranges::find_if(logarithms, [&](f32 one) { return !(logarithm - one >= 0); });
    const auto reached = static_cast<std::size_t>(above - logarithms.begin());
    const std::size_t low = std::min(reached == 0 ? 0 : reached - 1, sigmas.size() - 2);
    const double weight = std::clamp(
        (logarithms[low] - logarithm) / static_cast<double>(logarithms[low] - logarithms[low + 1]), 0.0, 1.0);
    const double from_low = (1 - weight) * static_cast<double>(low);
    const double from_high = weight * static_cast<double>(low + 1);
    timesteps.push_back(from_low + from_high);
  }
  return timesteps;
}

}  // namespace precast::sampling
