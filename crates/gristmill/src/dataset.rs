//! Building and running pipelines from Rust.

use crate::f::{Sym, trace};
use gristmill_plan::dataset::{
    Batch, Cache, Cardinality, Compression, Concatenate, ElementSpec, Enumerate, Filter, FlatMap,
    IgnoreErrors, Interleave, Map, Operand, Options, Plan, Prefetch, Range, Repeat, Shard, Shuffle, Skip,
    Take, Template, TensorSlices, Tensors, TfRecord, Unbatch, WithOptions, Zip,
};
use gristmill_runtime::{DatasetIterator, Reduction};
use gristmill_storage::Stores;
use gristmill_types::rng::seed_pair;
use gristmill_types::{Bytes, DType, Error, Kind, Result, Shape, Spec, Structure, Tensor, Value};
use std::ffi::OsStr;
use std::sync::Arc;
use std::time::Duration;

/// A pipeline. Transformations give new datasets; nothing runs before [`Dataset::iter`].
#[derive(Clone, Debug)]
pub struct Dataset {
    plan: Plan,
}

/// A tuple of `n` components, or the only one.
fn tuple(n: usize) -> Structure<usize> {
    if n == 1 { Structure::Leaf(0) } else { Structure::Tuple((0..n).map(Structure::Leaf).collect()) }
}

impl Dataset {
    /// A dataset that runs this plan.
    pub fn from_plan(plan: Plan) -> Self {
        crate::init();
        Self { plan }
    }

    /// The integers from `start` to before `stop` in steps of `step`, int64.
    ///
    /// # Errors
    /// A step of 0.
    pub fn range(start: i64, stop: i64, step: i64) -> Result<Self> {
        let (start, stop, step) = (Operand::int(start), Operand::int(stop), Operand::int(step));
        Plan::new(Range { start, stop, step, dtype: DType::I64 }, Vec::new()).map(Self::from_plan)
    }

    /// One element with these components.
    ///
    /// # Errors
    /// None for dense tensors.
    pub fn from_tensors(components: Vec<Value>) -> Result<Self> {
        let structure = tuple(components.len());
        let components = components.into_iter().map(Operand::Const).collect();
        Plan::new(Tensors { structure, components }, Vec::new()).map(Self::from_plan)
    }

    /// An element per row of these components.
    ///
    /// # Errors
    /// Scalars; components with unlike numbers of rows.
    pub fn from_tensor_slices(components: Vec<Value>) -> Result<Self> {
        let structure = tuple(components.len());
        let components = components.into_iter().map(Operand::Const).collect();
        Plan::new(TensorSlices { structure, components, paths: false }, Vec::new()).map(Self::from_plan)
    }

    /// The paths that match a pattern, sorted by bytes.
    ///
    /// # Errors
    /// `InvalidArgument` if none does.
    pub fn list_files(pattern: impl AsRef<OsStr>) -> Result<Self> {
        let pattern = pattern.as_ref();
        let found = Stores::default().of(pattern)?.glob(pattern)?;
        if found.is_empty() {
            return Err(Error::invalid(format!("No files matched pattern: {}", pattern.to_string_lossy())));
        }
        let items = found.iter().map(|p| Bytes::copy_from(p.as_encoded_bytes())).collect();
        let components = vec![Operand::Const(Tensor::string_vector(items).into())];
        Plan::new(TensorSlices { structure: Structure::Leaf(0), components, paths: true }, Vec::new())
            .map(Self::from_plan)
    }

    /// The records of TFRecord files, file after file; compression is found from the bytes.
    ///
    /// # Errors
    /// None: files are opened when they are read.
    pub fn tfrecord<P: AsRef<OsStr>>(files: &[P]) -> Result<Self> {
        let items: Vec<Bytes> =
            files.iter().map(|f| Bytes::copy_from(f.as_ref().as_encoded_bytes())).collect();
        let files = Operand::Const(Tensor::strings(Shape::vector(items.len()), items)?.into());
        Plan::new(TfRecord { files, compression: Compression::Detect, verify: true }, Vec::new())
            .map(Self::from_plan)
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The nested specs of the elements.
    pub fn element_spec(&self) -> &ElementSpec {
        self.plan.spec()
    }

    /// The number of elements.
    pub fn cardinality(&self) -> Cardinality {
        self.plan.cardinality
    }

    fn specs(&self) -> Vec<Spec> {
        self.plan.spec().leaves().into_iter().cloned().collect()
    }

    /// Each element through a traced function of its components.
    ///
    /// # Errors
    /// What the function or the inference of an op refuses.
    pub fn map(&self, function: impl FnOnce(&[Sym]) -> Result<Vec<Sym>>) -> Result<Self> {
        let graph = trace(self.specs(), function)?;
        let structure = tuple(graph.outputs.len());
        self.plan.then(Map::new(&graph, Vec::new(), structure, &self.plan)).map(Self::from_plan)
    }

    /// Only the elements for which a traced function gives true.
    ///
    /// # Errors
    /// `Value` if it does not give one bool.
    pub fn filter(&self, function: impl FnOnce(&[Sym]) -> Result<Sym>) -> Result<Self> {
        let graph = trace(self.specs(), |args| Ok(vec![function(args)?]))?;
        self.plan.then(Filter::new(&graph, Vec::new(), &self.plan)?).map(Self::from_plan)
    }

    fn template(&self, plan: impl FnOnce(&[Operand]) -> Result<Self>) -> Result<Template> {
        let specs = self.specs();
        let params: Vec<Operand> =
            specs.iter().enumerate().map(|(i, s)| Operand::Param(i, s.clone())).collect();
        let inner = plan(&params)?;
        let graph = trace(specs, |args| Ok(args.to_vec()))?;
        Ok(Template::new(&graph, Vec::new(), inner.plan, &self.plan))
    }

    /// The elements of one dataset per element, one after the other; the function gets the
    /// element's components as open parameters of its plan.
    ///
    /// # Errors
    /// What the function returns.
    pub fn flat_map(&self, plan: impl FnOnce(&[Operand]) -> Result<Self>) -> Result<Self> {
        self.plan.then(FlatMap { template: self.template(plan)? }).map(Self::from_plan)
    }

    /// As [`Dataset::flat_map`], `cycle` datasets in turn, `block` elements at a time.
    ///
    /// # Errors
    /// What the function returns; 0 for either number.
    pub fn interleave(
        &self,
        cycle: usize,
        block: usize,
        plan: impl FnOnce(&[Operand]) -> Result<Self>,
    ) -> Result<Self> {
        let template = self.template(plan)?;
        self.plan.then(Interleave { template, cycle, block, parallel: None }).map(Self::from_plan)
    }

    /// TensorFlow's shuffle; without a seed the operating system gives one.
    ///
    /// # Errors
    /// A buffer of 0.
    pub fn shuffle(&self, buffer: i64, seed: Option<i64>, reshuffle_each_iteration: bool) -> Result<Self> {
        let (seeds, unseeded) = match seed {
            Some(s) => (seed_pair(None, s), false),
            None => (system_seeds()?, true),
        };
        let shuffle = Shuffle {
            buffer: Operand::int(buffer),
            seeds,
            unseeded,
            reshuffle: reshuffle_each_iteration,
            counter: Arc::default(),
        };
        self.plan.then(shuffle).map(Self::from_plan)
    }

    /// Elements of several datasets side by side.
    ///
    /// # Errors
    /// No dataset.
    pub fn zip(datasets: &[Self]) -> Result<Self> {
        if datasets.is_empty() {
            return Err(Error::new(Kind::Value, "zip needs at least one dataset"));
        }
        let structure = Structure::Tuple((0..datasets.len()).map(Structure::Leaf).collect());
        Plan::new(Zip { structure }, datasets.iter().map(|d| d.plan.clone()).collect()).map(Self::from_plan)
    }

    /// This dataset, then another.
    ///
    /// # Errors
    /// `Type` if their elements differ in nesting or dtype.
    pub fn concatenate(&self, other: &Self) -> Result<Self> {
        Plan::new(Concatenate, vec![self.plan.clone(), other.plan.clone()]).map(Self::from_plan)
    }

    /// The elements as the first pass gave them, from memory from then on.
    ///
    /// # Errors
    /// None.
    pub fn cache(&self) -> Result<Self> {
        self.plan.then(Cache::default()).map(Self::from_plan)
    }

    /// The whole dataset `count` times; negative without end.
    ///
    /// # Errors
    /// None.
    pub fn repeat(&self, count: i64) -> Result<Self> {
        self.plan.then(Repeat { count: Operand::int(count) }).map(Self::from_plan)
    }

    /// The first `count` elements; negative takes all.
    ///
    /// # Errors
    /// None.
    pub fn take(&self, count: i64) -> Result<Self> {
        self.plan.then(Take { count: Operand::int(count) }).map(Self::from_plan)
    }

    /// All but the first `count` elements; negative leaves none.
    ///
    /// # Errors
    /// None.
    pub fn skip(&self, count: i64) -> Result<Self> {
        self.plan.then(Skip { count: Operand::int(count) }).map(Self::from_plan)
    }

    /// Every `count`-th element from the `index`-th.
    ///
    /// # Errors
    /// An index outside `0..count`.
    pub fn shard(&self, count: i64, index: i64) -> Result<Self> {
        self.plan.then(Shard { count, index }).map(Self::from_plan)
    }

    /// Consecutive elements stacked along a new outermost dimension.
    ///
    /// # Errors
    /// A size of 0.
    pub fn batch(&self, size: i64, drop_remainder: bool) -> Result<Self> {
        self.plan.then(Batch { size: Operand::int(size), drop_remainder }).map(Self::from_plan)
    }

    /// The rows of each element as elements.
    ///
    /// # Errors
    /// Scalar components.
    pub fn unbatch(&self) -> Result<Self> {
        self.plan.then(Unbatch).map(Self::from_plan)
    }

    /// Elements with their position in front.
    ///
    /// # Errors
    /// None.
    pub fn enumerate(&self, start: i64) -> Result<Self> {
        self.plan.then(Enumerate { start }).map(Self::from_plan)
    }

    /// Elements made ahead of the reader; `None` leaves the number to the engine.
    ///
    /// # Errors
    /// None.
    pub fn prefetch(&self, buffer: Option<u64>) -> Result<Self> {
        self.plan.then(Prefetch { buffer }).map(Self::from_plan)
    }

    /// Drops the errors of everything before.
    ///
    /// # Errors
    /// None.
    pub fn ignore_errors(&self) -> Result<Self> {
        self.plan.then(IgnoreErrors { log_warning: false }).map(Self::from_plan)
    }

    /// How the engine may run everything before.
    ///
    /// # Errors
    /// None.
    pub fn with_options(&self, options: Options) -> Result<Self> {
        self.plan.then(WithOptions { options }).map(Self::from_plan)
    }

    /// Folds all elements into one state with a traced function of the components of the state and of an element, which
    /// gives those of the next state. It is traced again if shapes change. What needs only the element is computed on all
    /// threads.
    ///
    /// ```
    /// use gristmill::{Dataset, Tensor, f};
    ///
    /// let sum = Dataset::range(0, 5, 1)?
    ///     .reduce(vec![Tensor::scalar(0i64).into()], |state, x| Ok(vec![f::add(&state[0], &x[0])?]))?;
    /// assert_eq!(sum[0].tensor()?.item::<i64>()?, 10);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    ///
    /// # Errors
    /// What the function or the inference of an op refuses; `Type` if it gives other dtypes than the state has,
    /// `InvalidArgument` if another number of components; that of the first element or call that fails.
    pub fn reduce(
        &self,
        initial: Vec<Value>,
        function: impl Fn(&[Sym], &[Sym]) -> Result<Vec<Sym>>,
    ) -> Result<Vec<Value>> {
        let mut state: Vec<Spec> = initial.iter().map(Value::spec).collect();
        let graph = loop {
            let specs = state.iter().cloned().chain(self.specs()).collect();
            let graph = trace(specs, |args| {
                let (state, element) = args.split_at(initial.len());
                function(state, element)
            })?;
            let widened = Reduction::widened(&state, &graph.output_specs())?;
            if widened == state {
                break graph;
            }
            state = widened;
        };
        let mut reduction = Reduction::new(&self.plan, &graph, initial)?;
        while !reduction.advance(Duration::from_secs(1))? {}
        Ok(reduction.into_state())
    }

    /// Starts a pass.
    ///
    /// # Errors
    /// What a stage refuses.
    pub fn iter(&self) -> Result<DatasetIterator> {
        DatasetIterator::new(&self.plan)
    }

    /// Goes on where [`DatasetIterator::state`] was taken.
    ///
    /// # Errors
    /// A state of another pipeline, or data that changed.
    pub fn resume(&self, state: &[u8]) -> Result<DatasetIterator> {
        DatasetIterator::resume(&self.plan, state)
    }

    /// The plan as written, the rules that fired and the plan that runs.
    ///
    /// # Errors
    /// None but faults of gristmill.
    pub fn explain(&self) -> Result<String> {
        self.plan.explain()
    }
}

fn system_seeds() -> Result<(u64, u64)> {
    let word = gristmill_runtime::entropy()?;
    Ok((word & 0x7FFF_FFFF, word >> 33))
}
