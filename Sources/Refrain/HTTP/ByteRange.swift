// SPDX-License-Identifier: MIT

/// A half-open range of byte offsets in a resource. HTTP's inclusive form exists only where a
/// header is parsed or written.
public typealias ByteRange = Range<Int64>
