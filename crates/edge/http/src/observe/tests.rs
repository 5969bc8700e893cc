use std::future::poll_fn;

use super::*;

#[test]
fn a_flood_of_refusals_does_not_fill_the_log() {
    let refusal_log = RefusalLog::new();
    let now = Instant::now();
    let logged = |at| (0..1_000).filter(|_| refusal_log.log(at)).count();
    assert_eq!((logged(now), logged(now)), (10, 0));
    assert_eq!(logged(now + Duration::from_secs(2)), 10);
}

#[actix_web::test]
async fn a_large_answer_is_handed_out_piece_by_piece() {
    let whole: Vec<u8> = (0..3 * MAX_CHUNK_BYTES + 1).map(|place| place as u8).collect();
    let guards = || ResponseGuards { running: None, body: BodyGuard::none() };
    let mut body = ObservedBody::new(BoxBody::new(whole.clone()), guards());
    assert_eq!(body.size(), BodySize::Sized(whole.len() as u64));
    let mut pieces = Vec::new();
    while let Some(piece) = poll_fn(|cx| Pin::new(&mut body).poll_next(cx)).await {
        pieces.push(piece.unwrap());
    }
    assert_eq!(
        pieces.iter().map(Bytes::len).collect::<Vec<_>>(),
        [MAX_CHUNK_BYTES, MAX_CHUNK_BYTES, MAX_CHUNK_BYTES, 1]
    );
    assert_eq!(pieces.concat(), whole);
    let mut empty = ObservedBody::new(BoxBody::new(""), guards());
    assert!(poll_fn(|cx| Pin::new(&mut empty).poll_next(cx)).await.is_none());
}
