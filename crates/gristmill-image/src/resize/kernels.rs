//! The kernels of the separable resizer (`tensorflow/core/kernels/image/sampling_kernels.h`).

/// A kernel by which samples around a position are weighed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Linear, radius 1.
    Triangle,
    /// Keys' cubic with a = -0.5, radius 2.
    KeysCubic,
    /// Mitchell and Netravali's cubic with B = C = 1/3, radius 2.
    MitchellCubic,
    /// Gaussian with standard deviation 0.5, radius 1.5.
    Gaussian,
    /// Lanczos, radius 3.
    Lanczos3,
    /// Lanczos, radius 5.
    Lanczos5,
}

fn lanczos(x: f32, radius: f32) -> f32 {
    const PI: f32 = std::f32::consts::PI;
    if x > radius {
        0.0
    } else if x <= 1e-3 {
        1.0
    } else {
        radius * (PI * x).sin() * (PI * x / radius).sin() / (PI * PI * x * x)
    }
}

impl Kernel {
    /// The distance beyond which the kernel is 0.
    #[must_use]
    pub fn radius(self) -> f32 {
        match self {
            Self::Triangle => 1.0,
            Self::Gaussian => 1.5,
            Self::KeysCubic | Self::MitchellCubic => 2.0,
            Self::Lanczos3 => 3.0,
            Self::Lanczos5 => 5.0,
        }
    }

    /// The weight at distance `x`, at least 0.
    #[must_use]
    pub fn at(self, x: f32) -> f32 {
        match self {
            Self::Triangle if x < 1.0 => 1.0 - x,
            Self::Gaussian if x < 1.5 => {
                let sigma = 1.5 / 3.0;
                (-x * x / (2.0 * sigma * sigma)).exp()
            }
            Self::KeysCubic if x < 1.0 => ((1.5 * x - 2.5) * x) * x + 1.0,
            Self::KeysCubic if x < 2.0 => ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0,
            Self::MitchellCubic if x < 1.0 => (((7.0 / 6.0) * x - 2.0) * x) * x + 8.0 / 9.0,
            Self::MitchellCubic if x < 2.0 => (((-7.0 / 18.0) * x + 2.0) * x - 10.0 / 3.0) * x + 16.0 / 9.0,
            Self::Lanczos3 => lanczos(x, 3.0),
            Self::Lanczos5 => lanczos(x, 5.0),
            _ => 0.0,
        }
    }
}
