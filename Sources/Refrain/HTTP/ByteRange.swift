// SPDX-License-Identifier: MIT

/// Offsets of bytes in a resource, half-open. HTTP's inclusive form exists only where a header is
/// read or written.
public typealias ByteRange = Range<Int64>
