//! One rule per file.

mod drop_no_ops;
mod fuse_image_chain;
mod fuse_map_into_batch;
mod fuse_maps;
mod push_down_order;
mod scale_image_decode;
mod split_foreign;

pub use drop_no_ops::DropNoOps;
pub use fuse_image_chain::{FuseImageChain, carried};
pub use fuse_map_into_batch::FuseMapIntoBatch;
pub use fuse_maps::FuseMaps;
pub use push_down_order::PushDownOrder;
pub use scale_image_decode::{REDUCED, ScaleImageDecode};
pub use split_foreign::SplitForeign;
