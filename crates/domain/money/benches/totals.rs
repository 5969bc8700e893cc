//! What exact money costs: a number from its text to an amount and back, and sums.

use criterion::{Criterion, criterion_group, criterion_main};
use dropin_money::{Amount, Currency, Decimal};
use std::hint::black_box;

fn reading(criterion: &mut Criterion) {
    criterion.bench_function("text to amount", |bench| {
        bench.iter(|| {
            let number = Decimal::parse(black_box("1234.50")).expect("a number");
            Amount::from_decimal(Currency::Usd, &number).expect("two decimals")
        });
    });
    criterion.bench_function("an exponent of a billion", |bench| {
        bench.iter(|| Decimal::parse(black_box("1e1000000000")).expect_err("out of range"));
    });
    let amount = Amount::from_minor(Currency::Usd, 123_450).expect("in range");
    criterion.bench_function("amount to text", |bench| bench.iter(|| black_box(&amount).to_string()));
}

fn totals(criterion: &mut Criterion) {
    let lines: Vec<_> = (1..=500).map(|minor| Amount::from_minor(Currency::Usd, minor).expect("in range")).collect();
    criterion.bench_function("total of 500 amounts", |bench| {
        bench.iter(|| {
            let sum = |sum: Amount, line| sum.checked_add(line).expect("in range");
            black_box(&lines).iter().fold(Amount::zero(Currency::Usd), sum)
        });
    });
}

criterion_group!(benches, reading, totals);
criterion_main!(benches);
