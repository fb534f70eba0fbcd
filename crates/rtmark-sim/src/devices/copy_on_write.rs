//! State that copies of a machine share until one of them changes it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A value that is cloned at the first change after the machine has been copied. Most copies live for a few
/// hundred instructions, in which no peripheral is touched.
#[derive(Clone, Debug)]
pub struct CopyOnWrite<T>(Arc<T>);

impl<T> From<T> for CopyOnWrite<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for CopyOnWrite<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for CopyOnWrite<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}
