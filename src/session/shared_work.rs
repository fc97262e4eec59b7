//! Work on the pieces of a long list, shared by two threads and handed over in order.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::window::Window;
use crate::error::{Error, Result};

/// Pieces that are done and wait for an earlier one, at most, on each side.
const WAITING: usize = 4;

/// Does `work` on the pieces 0 to `count`, each with the window of its thread, and hands over the
/// results one after the other, until `take` has enough.
///
/// Errors: the first one, in the order of the pieces as far as they were begun; those of `take`.
pub fn in_order<T: Send>(
    count: usize,
    work: impl Fn(usize, &mut Window) -> Result<T> + Sync,
    mut take: impl FnMut(T) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let made: Mutex<Vec<(usize, Result<T>)>> = Mutex::default();
    let made = || -> MutexGuard<_> { made.lock().unwrap_or_else(PoisonError::into_inner) };
    let make = |piece: usize, window: &mut Window| {
        let result = work(piece, window);
        made().push((piece, result));
    };
    let result_of = |piece: usize| {
        let mut made = made();
        let place = made.iter().position(|(other, _)| *other == piece)?;
        Some(made.swap_remove(place).1)
    };
    let mut hand_over = |piece: usize| {
        // Who took it for the end would lose what comes after it.
        let lost = || Err(Error::Defect(format!("piece {piece} was made and is not there")));
        take(result_of(piece).unwrap_or_else(lost)?)
    };
    share(count, &make, &mut hand_over)
}

/// What does not depend on the kind of the results, and is there only once for all of them.
fn share(
    count: usize,
    make: &(dyn Fn(usize, &mut Window) + Sync),
    hand_over: &mut dyn FnMut(usize) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut window = Window::default();
    if count < 2 {
        return (0..count).try_for_each(|piece| {
            make(piece, &mut window);
            hand_over(piece).map(|_| ())
        });
    }
    let next = AtomicUsize::new(0);
    let begin = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|piece| *piece < count);
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(WAITING);
        scope.spawn(|| {
            let (mut window, sender) = (Window::default(), sender);
            while let Some(piece) = begin() {
                make(piece, &mut window);
                // The receiver goes early after an error, or when there is enough.
                if sender.send(piece).is_err() {
                    break;
                }
            }
        });
        let mut done = BTreeSet::new();
        let mut due = 0;
        while due < count {
            if done.remove(&due) {
                if hand_over(due)?.is_break() {
                    break;
                }
                due += 1;
            } else if let Ok(piece) = receiver.try_recv() {
                done.insert(piece);
            } else if done.len() < WAITING
                && let Some(piece) = begin()
            {
                make(piece, &mut window);
                done.insert(piece);
            } else if let Ok(piece) = receiver.recv() {
                done.insert(piece);
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

    #[test]
    fn results_come_in_order_whoever_made_them() {
        for count in [0, 1, 2, 3, 100] {
            let mut taken = Vec::new();
            let work = |piece: usize, _: &mut Window| {
                // Some take longer, so that later ones are done before them.
                let spun = (0..(piece * 7919) % 5_000).fold(0usize, |sum, n| sum ^ n);
                Ok((piece, std::hint::black_box(spun)))
            };
            in_order(count, work, |(piece, _)| {
                taken.push(piece);
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
            assert_eq!(taken, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_error_ends_it_and_nothing_behind_it_is_taken() {
        for at in [0, 1, 5, 49] {
            let mut taken = Vec::new();
            let work = |piece: usize, _: &mut Window| match piece {
                _ if piece >= at => Err(Error::Defect(format!("piece {piece}"))),
                _ => Ok(piece),
            };
            let take = |piece| {
                taken.push(piece);
                Ok(ControlFlow::Continue(()))
            };
            let error = in_order(50, work, take).unwrap_err();
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
            in_order(50, |piece, _: &mut Window| Ok(piece), take).unwrap();
            assert_eq!(taken, (0..enough).collect::<Vec<_>>());
        }
    }
}
