//! The wall clock of a daemon, which may be wrong and jump.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::daemon::Daemon;

/// Adds the number of seconds in the file `CLOCK_OFFSET` to the wall clock of the process that
/// loads this.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
    char text[32] = {0};
    int file = open(getenv("CLOCK_OFFSET"), O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    return length > 0 ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += offset();
    return result;
}

time_t time(time_t *into) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into) *into = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec precise;
    (void) zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}
"#;

/// The clock of a daemon.
pub struct Clock {
    offset: PathBuf,
}

impl Clock {
    /// Gives a daemon, which must not have been started yet, a clock that is right until it is
    /// told otherwise.
    pub fn of(daemon: &mut Daemon) -> Self {
        let clock = Clock { offset: daemon.folder().join("clock-offset") };
        clock.set_offset(0);
        daemon.set_variable("LD_PRELOAD", compile(daemon.folder()).to_str().unwrap());
        daemon.set_variable("CLOCK_OFFSET", clock.offset.to_str().unwrap());
        clock
    }

    /// Sets how many seconds it is fast, in one step.
    pub fn set_offset(&self, seconds: i64) {
        let next = self.offset.with_extension("next");
        fs::write(&next, seconds.to_string()).unwrap();
        fs::rename(next, &self.offset).unwrap();
    }
}

/// Compiles the shim with the compiler that Rust links with anyway.
fn compile(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    fs::write(&source, SHIM).unwrap();
    let output = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl").output();
    let output = output.unwrap_or_else(|error| panic!("cc, which Rust needs too, does not run: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}
