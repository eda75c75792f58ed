//! The fair share of each namespace when all together ask for more than the node has.

use super::BUDGETS;
use super::admission::sum;
use crate::Limits;
use ingressd_model::cost::Cost;

/// The upper limits of each namespace for each of [`BUDGETS`], in addition to its own limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    limits: [u64; BUDGETS.len()],
    /// What all namespaces ask for: the names of each are compared with those of all.
    all: Cost,
}

impl Shares {
    /// No upper limits, when there is enough for all.
    pub fn none() -> Self {
        Shares { limits: [u64::MAX; BUDGETS.len()], all: Cost::default() }
    }

    /// The fair shares for namespaces with these costs.
    pub fn of(costs: &[Cost], limits: &Limits) -> Self {
        let all = sum(costs);
        let mut shares = Shares { all, ..Shares::none() };
        for (share, budget) in shares.limits.iter_mut().zip(BUDGETS) {
            if let Some(total) = &budget.total {
                let used = costs.iter().map(|cost| (budget.used)(&cost.among(&all))).collect();
                *share = fair(used, (total.limit)(limits)).unwrap_or(u64::MAX);
            }
        }
        shares
    }

    /// The share of the budget with this number.
    pub fn get(&self, number: usize) -> u64 {
        self.limits.get(number).copied().unwrap_or(u64::MAX)
    }

    /// A cost among all others, of which it may be a part already.
    pub fn among_all(&self, cost: &Cost) -> Cost {
        let (variables, upstreams) = (cost.variables.max(self.all.variables), cost.upstreams.max(self.all.upstreams));
        cost.among(&Cost { variables, upstreams, ..Cost::default() })
    }

    /// Whether a cost exceeds its share.
    pub fn are_exceeded(&self, cost: &Cost) -> bool {
        let cost = self.among_all(cost);
        BUDGETS.iter().zip(self.limits).any(|(budget, share)| (budget.used)(&cost) > share)
    }
}

/// The upper limit for each when those that want less get everything, and the others get equal
/// amounts; `None` when there is enough for all.
fn fair(mut wanted: Vec<u64>, total: u64) -> Option<u64> {
    wanted.sort_unstable();
    let mut left = total;
    let mut without = u64::try_from(wanted.len()).unwrap_or(u64::MAX);
    for wanted in wanted {
        let share = left / without;
        if wanted > share {
            return Some(share);
        }
        left -= wanted;
        without -= 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_demand_is_met_and_the_others_get_equal_shares() {
        for (wanted, total, expected) in [
            (&[][..], 10, None),
            (&[4, 6], 10, None),
            (&[4, 7], 10, Some(6)),
            (&[20, 1], 10, Some(9)),
            (&[20, 30, 1], 10, Some(4)),
            (&[5, 5, 5], 10, Some(3)),
            (&[1, 2, 9, 8], 17, Some(7)),
            (&[7], 0, Some(0)),
            (&[u64::MAX, u64::MAX], 10, Some(5)),
        ] {
            assert_eq!(fair(wanted.to_vec(), total), expected, "{wanted:?} of {total}");
        }
    }
}
