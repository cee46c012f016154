// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  /// A player's request to a loader.
  package struct Wish: Sendable, Hashable, CustomStringConvertible {
    package var offset: Int64 = 0
    /// `requestedLength`; nil: no data request at all.
    package var bytes: Int?
    /// `requestsAllDataToEndOfResource`.
    package var toEnd = false
    package var information = false
    package var allowedContentTypes: [String]?

    /// Requests content information, with the first bytes.
    package static func information(bytes: Int? = 2, allowed: [String]? = nil) -> Wish {
      Wish(bytes: bytes, information: true, allowedContentTypes: allowed)
    }

    package static func bytes(_ count: Int, at offset: Int64) -> Wish {
      Wish(offset: offset, bytes: count)
    }

    /// - Parameter length: the remaining length by AVFoundation's knowledge; by default unknown.
    package static func toEnd(from offset: Int64, length: Int = .max) -> Wish {
      Wish(offset: offset, bytes: length, toEnd: true)
    }

    /// The end of the data, or nil for the end of the resource.
    var end: Int64? { toEnd || bytes == .max ? nil : offset + Int64(bytes ?? 0) }

    package var description: String {
      "\(information ? "information " : "")\(offset)/\(bytes.map { "\($0)" } ?? "no data")"
        + (toEnd ? " to the end" : "")
    }
  }

  /// A loader's content information.
  package struct StandInInformation: Sendable, Hashable {
    package var contentType: String?
    package var contentLength: Int64 = 0
    package var isByteRangeAccessSupported = false
    package var isEntireLengthAvailableOnDemand = false
  }
#endif
