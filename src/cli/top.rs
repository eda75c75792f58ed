//! The command `top`: the traffic of the running daemon, by host, Ingress or Service.

mod figures;
mod table;

use std::collections::VecDeque;
use std::time::Duration;

use super::exit::{Ended, Exit};
use super::output::{Format, FormatArguments};
use super::page;
use super::settings::SettingsArguments;
use super::status::{Shown, ask, of_another_version, watch};
use crate::daemon::TrafficReport;
use figures::{Between, between};
use ingressd_config::Settings;
use ingressd_model::finding::printable_json;

/// How far back the figures of the table reach, in seconds.
const REACH: f64 = 10.0;

/// What a row of the table is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// The host of a rule; `*` is every other one.
    Host,
    #[default]
    Ingress,
    Service,
}

/// What the rows are sorted by, the greatest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SortKey {
    /// Requests a second.
    #[default]
    Rate,
    /// Requests a second that were answered with 5xx.
    Errors,
    /// The time that half of the requests took at most.
    P50,
    /// The time that 99 of 100 requests took at most.
    P99,
    /// Bytes to clients and from them.
    Bytes,
    /// Their names.
    Name,
}

/// Arguments of `ingressd top`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
    The daemon counts requests where the setting traffic.enabled is true. A request is counted within two seconds. The \
    figures are about the last ten seconds, or about a longer --interval; rows without a request meanwhile are left out. A time is estimated \
    from the ranges of a histogram and no greater than 10 seconds, which stands for everything longer. Above some 10,000 requests a second \
    the daemon reads one of several and corrects the figures, which the first line says then. Where nginx answers itself, the Service \
    is -, and where no object takes a request, so is the Ingress. (others) is what is more than a thousand objects or \
    hosts.\n\n\
    With --json there is an object on a line for each look: seconds is how long was measured, sampling of how many requests one was read, requests_per_second the sum of all rows, \
    and each row has its names, requests_per_second, client_errors_per_second (4xx), server_errors_per_second (5xx), p50_seconds and p99_seconds, \
    upstream_p50_seconds and upstream_p99_seconds of endpoints, sent_bytes_per_second and received_bytes_per_second. A time that nothing took is null.\n\n\
    Colours are used on terminals only, and never where NO_COLOR is set. Lines are as wide as the terminal \
    (COLUMNS), and no more rows are shown than it has lines.")]
pub struct Arguments {
    /// What a row is about.
    #[arg(long, value_enum, default_value_t)]
    by: By,
    /// What rows are sorted by.
    #[arg(long, value_enum, default_value_t)]
    sort: SortKey,
    /// Show only rows whose name has this text.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    filter: String,
    /// Measure once, for the time of --interval, and end.
    #[arg(long)]
    once: bool,
    /// Seconds between two looks.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=3600))]
    interval: u16,
    #[command(flatten)]
    form: FormatArguments<Format>,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    let settings = arguments.settings.load_to_ask()?;
    let interval = Duration::from_secs(arguments.interval.into());
    let (mut looks, mut number) = (VecDeque::new(), 0_u64);
    let height = page::height().filter(|_| !arguments.once);
    watch(interval, || {
        let now = look(&settings)?;
        number += 1;
        let text = match (earlier(&mut looks, &now, interval.as_secs_f64()), arguments.form.format) {
            (Some(earlier), Format::Text) => table::table(&between(earlier, &now, arguments), page::width(), height),
            (Some(earlier), Format::Json) => json(&between(earlier, &now, arguments)),
            (None, Format::Text) if !arguments.once && page::width().is_some() => {
                "requests are being counted\n".to_owned()
            }
            (None, _) => String::new(),
        };
        let is_last = arguments.once && !looks.is_empty();
        looks.push_back(now);
        Ok(Shown { text, essence: number.into(), is_last })
    })
}

fn look(settings: &Settings) -> Result<TrafficReport, Exit> {
    let (answer, value) = ask(settings, "traffic")?;
    if let Some(error) = value["error"].as_str() {
        return Err(of_another_version(error));
    }
    match serde_json::from_str::<TrafficReport>(&answer) {
        Ok(report) if report.counts => Ok(report),
        Ok(_) => {
            complain!(
                "ingressd: the daemon does not count requests: set traffic.enabled = true in its settings, and run \
                 `ingressd reload`"
            );
            Err(Exit::Unavailable)
        }
        Err(error) => Err(of_another_version(&error.to_string())),
    }
}

/// The look with which this one is compared; `None` for the first one, also of another daemon.
fn earlier<'l>(
    looks: &'l mut VecDeque<TrafficReport>,
    now: &TrafficReport,
    interval: f64,
) -> Option<&'l TrafficReport> {
    if looks.back().is_some_and(|last| last.seconds > now.seconds) {
        looks.clear();
    }
    // Half an interval is for looks that come somewhat late.
    let reach = REACH.max(interval) + interval / 2.0;
    while looks.len() > 1 && looks.front().is_some_and(|first| now.seconds - first.seconds > reach) {
        looks.pop_front();
    }
    looks.front()
}

fn json(between: &Between) -> String {
    printable_json(&serde_json::json!(between).to_string()) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_compared_with_one_of_the_last_ten_seconds_of_the_same_daemon() {
        let at = |seconds| TrafficReport { seconds, ..TrafficReport::default() };
        let mut looks = VecDeque::new();
        let mut compared = |seconds, interval| {
            let now = at(seconds);
            let earlier = earlier(&mut looks, &now, interval).map(|earlier| earlier.seconds);
            looks.push_back(now);
            earlier
        };
        let reported = [100.0, 102.0, 108.0, 110.9, 113.0, 3.0, 5.0].map(|seconds| compared(seconds, 2.0));
        assert_eq!(reported, [None, Some(100.0), Some(100.0), Some(100.0), Some(102.0), None, Some(3.0)]);
        assert_eq!([65.0, 125.0].map(|seconds| compared(seconds, 60.0)), [Some(3.0), Some(65.0)]);
    }
}
