//! Deleting what is old.

use super::*;

#[tokio::test]
async fn what_is_old_is_deleted_in_steps() {
    let (notifications, store) = over(vec![]);
    let day = Duration::from_secs(86_400);
    let retention = Retention { tries: Some(day), events: Some(day * 2) };
    let foretold = notifications.purge(retention, true).await.unwrap();
    assert_eq!(foretold, Purged { tries: 2_506, events: 4 });
    assert_eq!(*store.tries.lock().unwrap(), 2_500);
    assert_eq!(*store.purged.lock().unwrap(), []);
    assert_eq!(notifications.purge(retention, false).await, Ok(foretold));
    let [one_day, two_days] = [day, day * 2].map(|age| Timestamp::from_micros(NOW.micros() - age.as_micros() as i64));
    let mut steps = vec![(one_day, None); 3];
    steps.extend([(two_days, None), (two_days, Some(event(7)))]);
    assert_eq!(*store.purged.lock().unwrap(), steps);
    let looks = [(two_days, Some(one_day), None), (two_days, Some(one_day), Some(event(7)))];
    assert_eq!(*store.counted.lock().unwrap(), looks, "a try counts once");
    let nothing = Retention { tries: None, events: None };
    assert_eq!(notifications.purge(nothing, false).await, Ok(Purged::default()));
}

#[tokio::test]
async fn it_is_done_again_and_again_until_the_stop() {
    let (notifications, store) = over(vec![]);
    let (stop, stopping) = watch::channel(false);
    let keeping = tokio::spawn(async move {
        let retention = Retention { tries: Some(Duration::ZERO), events: Some(Duration::ZERO) };
        notifications.keep_every(Duration::from_millis(4), retention, stopping).await;
    });
    // Three steps for tries and two for events, and then one for each time that there are no more tries.
    while store.purged.lock().unwrap().len() < 5 + 3 {
        tokio::task::yield_now().await;
    }
    assert!(!keeping.is_finished());
    stop.send(true).unwrap();
    keeping.await.unwrap();
    let purged = store.purged.lock().unwrap();
    assert!(purged[5..].iter().all(|(_, after)| after.is_none()), "events once a day");
}

#[tokio::test]
async fn events_do_not_wait_a_day_when_the_store_was_away() {
    let (notifications, store) = over(vec![]);
    *store.away.lock().unwrap() = 3;
    let (stop, stopping) = watch::channel(false);
    let retention = Retention { tries: Some(Duration::from_secs(1)), events: Some(Duration::from_secs(2)) };
    let keeping =
        tokio::spawn(async move { notifications.keep_every(Duration::from_millis(1), retention, stopping).await });
    let of_events = |step: &(Timestamp, Option<EventId>)| step.0 == NOW.minus(Duration::from_secs(2));
    while !store.purged.lock().unwrap().iter().any(of_events) {
        tokio::task::yield_now().await;
    }
    stop.send(true).unwrap();
    keeping.await.unwrap();
    // Three in vain, and then the three that it takes to delete 2,500.
    assert_eq!(
        store.purged.lock().unwrap().iter().position(of_events),
        Some(6),
        "with the first look that is not in vain"
    );
}

#[tokio::test]
async fn whoever_keeps_everything_only_waits_for_the_stop() {
    let (notifications, store) = over(vec![]);
    let (stop, stopping) = watch::channel(false);
    let nothing = Retention { tries: None, events: None };
    let keeping = async { notifications.keep_every(Duration::ZERO, nothing, stopping).await };
    let ((), ()) = tokio::join!(keeping, async { drop(stop) });
    assert_eq!(*store.purged.lock().unwrap(), []);
}
