//! Numbers in JSON, which cannot represent infinity and NaN: these are written as text. Every finite number is
//! written as the shortest decimal that is read back to the same bits.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Number {
    Finite(f64),
    Text(String),
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        if value.is_finite() { Number::Finite(value) } else { Number::Text(value.to_string()) }
    }
}

impl Number {
    fn read<E: serde::de::Error>(self) -> Result<f64, E> {
        match self {
            Number::Finite(value) => Ok(value),
            Number::Text(text) => text.parse().map_err(|_| E::custom(format!("{text:?} is not a number"))),
        }
    }
}

/// One number.
pub mod one {
    use super::*;

    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        Number::from(*value).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Number::deserialize(from)?.read()
    }
}

/// A list of named numbers.
pub mod named {
    use super::*;

    pub fn serialize<S: Serializer>(values: &[(String, f64)], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(|(name, value)| (name, Number::from(*value))))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, f64)>, D::Error> {
        let values = Vec::<(String, Number)>::deserialize(from)?;
        values.into_iter().map(|(name, value)| Ok((name, value.read()?))).collect()
    }
}

/// A pair of numbers.
pub mod pair {
    use super::*;

    pub fn serialize<S: Serializer>(value: &(f64, f64), to: S) -> Result<S::Ok, S::Error> {
        (Number::from(value.0), Number::from(value.1)).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<(f64, f64), D::Error> {
        let (a, b) = <(Number, Number)>::deserialize(from)?;
        Ok((a.read()?, b.read()?))
    }
}

/// A list of numbers.
pub mod list {
    use super::*;

    pub fn serialize<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(|&value| Number::from(value)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        Vec::<Number>::deserialize(from)?.into_iter().map(Number::read).collect()
    }
}
