//! Runs work on threads that end with it. It must not know what the work is.

use rayon::ThreadPoolBuilder;

/// Runs work on threads of its own, also the parts that it divides among threads.
///
/// The allocator keeps freed memory for each thread until the thread ends. Threads that live on
/// between changes would hold megabytes that nothing uses. Where no thread can be made, the work
/// runs on this one.
pub fn on_temporary_threads<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match ThreadPoolBuilder::new().thread_name(|number| format!("work-{number}")).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

    use super::*;

    #[test]
    fn all_of_the_work_is_on_threads_of_its_own() {
        let named = |_: u32| std::thread::current().name().map(str::to_owned);
        let (own, all) = on_temporary_threads(|| {
            let all: BTreeSet<_> = (0..100).into_par_iter().map(named).collect();
            (named(0), all)
        });
        let is_temporary = |name: &Option<String>| name.as_deref().is_some_and(|name| name.starts_with("work-"));
        assert!(is_temporary(&own) && all.iter().all(is_temporary), "{own:?} {all:?}");
    }
}
