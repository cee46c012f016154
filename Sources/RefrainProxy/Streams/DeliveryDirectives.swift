// SPDX-License-Identifier: MIT
import Foundation

/// The parameters by which a client selects a version of a live playlist (`_HLS_msn`,
/// draft-pantos-hls-rfc8216bis §6.2.5).
extension URL {
  /// The URL of the playlist of which this one is a version; the URL itself if it has none of them.
  var withoutDeliveryDirectives: URL {
    let text = absoluteString
    guard let mark = text.firstIndex(of: "?"), text[mark...].contains("_HLS_") else { return self }
    let query = text[text.index(after: mark)...].prefix { $0 != "#" }
    let kept = query.split(separator: "&", omittingEmptySubsequences: false)
      .filter { !$0.hasPrefix("_HLS_") }
    let plain =
      kept.isEmpty ? String(text[..<mark]) : "\(text[...mark])\(kept.joined(separator: "&"))"
    return URL(string: plain) ?? self
  }
}
