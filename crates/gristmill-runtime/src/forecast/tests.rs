use super::Thread::{Ahead, Asking, Shared};
use super::*;

/// A stage with seconds of work; `>` before its name where it holds results ready.
fn stage(name: &str, busy: f64) -> Work {
    let bare = name.trim_start_matches('>');
    Work { name: bare.to_string(), busy, ahead: bare != name }
}

fn stages(all: &[(&str, f64)]) -> Vec<Work> {
    all.iter().map(|(name, busy)| stage(name, *busy)).collect()
}

/// A pass on so many cores; the CPU did what the stages did.
fn pass(all: &[(&str, f64)], seconds: f64, asking: f64, cores: usize) -> Counted {
    let stages = stages(all);
    let cpu = stages.iter().map(|s| s.busy).sum();
    Counted { stages, seconds, cpu, asking, cores }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9 * b.abs().max(1.0)
}

#[test]
fn stages_of_one_thread_add_up() {
    let counted =
        Counted { cpu: 10.0, ..pass(&[("range", 1.0), ("filter", 6.0), ("batch", 2.0)], 10.0, 10.0, 2) };
    let f = Forecast::new(&counted);
    assert_eq!(f.threads, [Asking; 3]);
    assert_eq!((f.outside, f.time(None)), (1.0, 10.0));
    assert_eq!([0, 1, 2, 3].map(|i| f.without(i)), [9.0, 4.0, 8.0, 9.0]);
    assert_eq!((f.limiting(), f.name(1), f.name(3)), (1, Some("filter"), None));
    assert_eq!(
        f.bottleneck(),
        "bottleneck: filter, at work 60 % of the pass (6.000 s of work); without it a pass would take about \
         4.000 s, not 10.000 s"
    );
}

#[test]
fn a_prefetch_parts_threads_and_the_next_busiest_one_remains() {
    let all = [("range", 1.0), ("shuffle", 8.0), (">prefetch", 0.0), ("filter", 3.0), ("batch", 1.0)];
    let f = Forecast::new(&pass(&all, 9.0, 4.0, 4));
    assert_eq!(f.threads, [Ahead(2), Ahead(2), Asking, Asking, Asking]);
    // Without the shuffle the asking thread is the busiest; without the filter nothing changes.
    assert_eq!((f.without(1), f.without(3), f.limiting()), (4.0, 9.0, 1));
}

#[test]
fn several_prefetches_have_a_thread_each() {
    let all = [("range", 2.0), (">prefetch", 0.0), ("filter", 5.0), (">prefetch", 0.0), ("batch", 4.0)];
    let f = Forecast::new(&pass(&all, 5.0, 4.0, 8));
    assert_eq!(f.threads, [Ahead(1), Ahead(3), Ahead(3), Asking, Asking]);
    assert_eq!(f.without(2), 4.0);
}

#[test]
fn shared_threads_divide_work_and_cores_bound_all_of_it() {
    let all = [("range", 0.5), (">map", 12.0), ("shuffle", 2.5), (">map+batch", 8.0)];
    let f = Forecast::new(&pass(&all, 11.5, 3.0, 2));
    assert_eq!(f.threads, [Asking, Shared, Asking, Shared]);
    assert_eq!(f.time(None), 11.5);
    // 11 s of work remain for two cores.
    assert!(near(f.without(1), 5.5));
    assert!(
        f.bottleneck()
            .starts_with("bottleneck: map, at work 52 % of the pass (12.000 s of work shared by 2 threads)")
    );
    // On more cores the thread that asks is what remains.
    let wide = Forecast::new(&pass(&all, 3.0, 3.0, 16));
    assert_eq!((wide.without(1), wide.without(2)), (3.0, 20.5 / 16.0));
}

#[test]
fn time_lost_to_waiting_is_lost_in_proportion() {
    let f = Forecast::new(&Counted {
        cpu: 8.0,
        ..pass(&[("range", 0.0), (">map", 8.0), ("filter", 2.0)], 6.0, 2.0, 2)
    });
    assert_eq!(f.time(None), 5.0);
    assert!(near(f.without(1), 6.0 * 2.0 / 5.0));
}

#[test]
fn busy_time_beyond_the_cores_is_waiting_for_one() {
    let all = [("range", 0.0), (">map", 20.0), ("shuffle", 10.0)];
    // 15 CPU seconds were used by what says that it was busy for 30.
    let f = Forecast::new(&Counted { cpu: 15.0, ..pass(&all, 7.5, 5.0, 2) });
    assert_eq!(f.work, [0.0, 10.0, 5.0]);
    assert_eq!(f.without(1), 5.0);
    // Stages that wait for something else than a core keep their time.
    let asleep = Forecast::new(&Counted { cpu: 3.0, ..pass(&all, 15.0, 1.0, 2) });
    assert_eq!(asleep.work, [0.0, 20.0, 10.0]);
}

#[test]
fn threads_that_wait_for_files_are_more_than_the_cores() {
    let all = [(">TFRecordDataset", 39.0), ("batch", 1.0)];
    let f = Forecast::new(&Counted { cpu: 2.0, ..pass(&all, 10.0, 1.0, 2) });
    assert_eq!((f.shared, f.time(None)), (4, 10.0));
    assert!(near(f.without(0), 1.0));
}

#[test]
fn a_slow_loop_is_outside_of_the_stages() {
    let f = Forecast::new(&pass(&[("range", 1.0), (">prefetch", 0.0)], 10.0, 10.0, 2));
    assert_eq!((f.limiting(), f.name(2)), (2, None));
    let text = f.bottleneck();
    assert!(text.starts_with("bottleneck: outside of the stages"), "{text}");
    assert!(text.ends_with("would take about 1.000 s, not 10.000 s"), "{text}");
}

#[test]
fn stages_inside_of_an_interleave() {
    let on_its_thread = [
        ("range", 1.0),
        ("interleave", 1.0),
        (">prefetch", 1.0),
        ("range (inner)", 1.0),
        ("map (inner)", 1.0),
    ];
    assert_eq!(threads(&stages(&on_its_thread)), [Ahead(2), Ahead(2), Asking, Ahead(2), Ahead(2)]);
    let mut apart = on_its_thread.to_vec();
    apart.push((">prefetch (inner)", 0.0));
    assert_eq!(threads(&stages(&apart)), [Ahead(2), Ahead(2), Asking, Shared, Shared, Shared]);
}

#[test]
fn nothing_to_do() {
    let f = Forecast::new(&pass(&[("range", 0.0)], 1e-3, 0.0, 2));
    assert_eq!(f.without(0), 1e-3);
    let none = Forecast::new(&pass(&[], 1e-3, 0.0, 2));
    assert!(none.bottleneck().starts_with("bottleneck: outside"));
}

#[test]
fn passes_of_one_plan_add_up() {
    let report = |busy_ns, ahead_room| StageReport {
        name: "map".into(),
        busy_ns,
        ahead_room,
        ..StageReport::default()
    };
    let mut meter = Meter::start();
    meter.add(&[report(1_000_000_000, 0)]);
    meter.add(&[report(2_000_000_000, 3)]);
    // Work that the compiler must not leave out.
    std::hint::black_box((0..2_000_000u64).fold(0, |a, b| std::hint::black_box(a ^ b)));
    let counted = meter.counted();
    assert_eq!(counted.stages, [Work { name: "map".into(), busy: 3.0, ahead: true }]);
    assert!(counted.seconds > 0.0 && counted.cores >= 1);
    if cfg!(unix) {
        assert!(counted.asking > 0.0 && counted.cpu > 0.0, "{counted:?}");
    }
}
