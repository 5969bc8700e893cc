//! What a merchant reads of what it is told.

use actix_web::http::Method;

use super::ScenarioRun;

impl ScenarioRun<'_> {
    pub(super) async fn events_are_read(&mut self) {
        let begin = ("listEvents", "oldest", "From the oldest event on, two at a time");
        self.merchant(begin, (Method::GET, "/v1/event?limit=2"), None, 200).await;
        let end = format!("/v1/event?after={}", "7".repeat(32));
        self.merchant(("listEvents", "nothingNew", "Nothing has happened since"), (Method::GET, &end), None, 200).await;
        let many = ("listEvents", "fieldErrors", "More than an answer has, and a cursor that was cut off");
        self.merchant(many, (Method::GET, "/v1/event?limit=1000&after=000660c1"), None, 400).await;
    }
}
