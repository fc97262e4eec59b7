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
/// results one after the other, until `take` has enough. What `take` leaves of a result is dropped
/// by the thread that made it: an allocator makes one thread wait for the other if it frees what
/// that one allocated.
///
/// Errors: the first one, in the order of the pieces as far as they were begun; those of `take`.
pub fn in_order<T: Send>(
    count: usize,
    work: impl Fn(usize, &mut Window) -> Result<T> + Sync,
    mut take: impl FnMut(&mut T) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let made: Results<T> = Results { ready: Mutex::default(), spent: Mutex::default() };
    let make = |piece: usize, window: &mut Window, maker: Maker| {
        if maker == Maker::Other {
            let spent = std::mem::take(&mut *locked(&made.spent));
            drop(spent);
        }
        let result = work(piece, window);
        locked(&made.ready).push((piece, maker, result));
    };
    let mut hand_over = |piece: usize| {
        // Who took it for the end would lose what comes after it.
        let lost = || Error::Defect(format!("piece {piece} was made and is not there"));
        let (maker, result) = made.of(piece).ok_or_else(lost)?;
        let mut result = result?;
        let flow = take(&mut result);
        if maker == Maker::Other {
            locked(&made.spent).push(result);
        }
        flow
    };
    share(count, &make, &mut hand_over)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Maker {
    /// The thread that takes the results.
    Taker,
    Other,
}

struct Results<T> {
    ready: Mutex<Vec<(usize, Maker, Result<T>)>>,
    /// What was left of those that the other thread made.
    spent: Mutex<Vec<T>>,
}

impl<T> Results<T> {
    fn of(&self, piece: usize) -> Option<(Maker, Result<T>)> {
        let mut ready = locked(&self.ready);
        let place = ready.iter().position(|(other, ..)| *other == piece)?;
        let (_, maker, result) = ready.swap_remove(place);
        Some((maker, result))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What does not depend on the kind of the results, and is there only once for all of them.
fn share(
    count: usize,
    make: &(dyn Fn(usize, &mut Window, Maker) + Sync),
    hand_over: &mut dyn FnMut(usize) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut window = Window::default();
    if count < 2 {
        return (0..count).try_for_each(|piece| {
            make(piece, &mut window, Maker::Taker);
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
                make(piece, &mut window, Maker::Other);
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
                make(piece, &mut window, Maker::Taker);
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
                taken.push(*piece);
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
            let take = |piece: &mut usize| {
                taken.push(*piece);
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
            let take = |piece: &mut usize| {
                taken.push(*piece);
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
