//! Work on the pieces of a long list, shared by two threads and handed over in order.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use crate::error::Result;

/// Pieces that are done and wait for an earlier one, at most, on each side.
const WAITING: usize = 3;

/// Does `work` on the pieces 0 to `count`, each with what `tools` makes for its thread, and hands
/// over the results one after the other, until `take` has enough.
///
/// Errors: the first one, in the order of the pieces as far as they were begun; those of `take`.
pub fn in_order<T: Send, W>(
    count: usize,
    tools: impl Fn() -> W + Sync,
    work: impl Fn(usize, &mut W) -> Result<T> + Sync,
    mut take: impl FnMut(T) -> Result<ControlFlow<()>>,
) -> Result<()> {
    if count < 2 {
        let mut tools = tools();
        return (0..count).try_for_each(|piece| take(work(piece, &mut tools)?).map(|_| ()));
    }
    let next = AtomicUsize::new(0);
    let begin = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|piece| *piece < count);
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(WAITING);
        scope.spawn(|| {
            let (mut tools, sender) = (tools(), sender);
            while let Some(piece) = begin() {
                // The receiver goes early after an error, or when there is enough.
                if sender.send((piece, work(piece, &mut tools))).is_err() {
                    break;
                }
            }
        });
        let mut tools = tools();
        let mut done = BTreeMap::new();
        let mut due = 0;
        while due < count {
            if let Some(result) = done.remove(&due) {
                if take(result?)?.is_break() {
                    break;
                }
                due += 1;
            } else if let Ok((piece, result)) = receiver.try_recv() {
                done.insert(piece, result);
            } else if done.len() < WAITING
                && let Some(piece) = begin()
            {
                done.insert(piece, work(piece, &mut tools));
            } else if let Ok((piece, result)) = receiver.recv() {
                done.insert(piece, result);
            } else {
                // The other thread panicked, which is a defect of ours; the scope passes it on.
                break;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn results_come_in_order_whoever_made_them() {
        for count in [0, 1, 2, 3, 100] {
            let mut taken = Vec::new();
            let work = |piece: usize, _: &mut ()| {
                // Some take longer, so that later ones are done before them.
                let spun = (0..(piece * 7919) % 5_000).fold(0usize, |sum, n| sum ^ n);
                Ok((piece, std::hint::black_box(spun)))
            };
            in_order(
                count,
                || (),
                work,
                |(piece, _)| {
                    taken.push(piece);
                    Ok(ControlFlow::Continue(()))
                },
            )
            .unwrap();
            assert_eq!(taken, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_error_ends_it_and_nothing_behind_it_is_taken() {
        for at in [0, 1, 5, 49] {
            let mut taken = Vec::new();
            let work = |piece: usize, _: &mut ()| match piece {
                _ if piece >= at => Err(Error::Defect(format!("piece {piece}"))),
                _ => Ok(piece),
            };
            let take = |piece| {
                taken.push(piece);
                Ok(ControlFlow::Continue(()))
            };
            let error = in_order(50, || (), work, take).unwrap_err();
            assert!(error.to_string().contains(&format!("piece {at}")), "{error}");
            assert_eq!(taken, (0..at).collect::<Vec<_>>());
        }
    }

    #[test]
    fn enough_is_enough() {
        for enough in [1, 2, 30] {
            let mut taken = Vec::new();
            let take = |piece| {
                taken.push(piece);
                Ok(match taken.len() == enough {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                })
            };
            in_order(50, || (), |piece, _: &mut ()| Ok(piece), take).unwrap();
            assert_eq!(taken, (0..enough).collect::<Vec<_>>());
        }
    }
}
