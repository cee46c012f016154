// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// Reports on one URL of `get`: lines for people, or JSON for programs.
struct GetReports: Sendable {
  private let url: URL
  /// The part of the stream that is fetched; nil: the URL itself.
  private var part: URL?
  private let isJSON: Bool
  private let display: ProgressDisplay
  private let throttle = Throttle()

  init(url: URL, isJSON: Bool) {
    self.url = url
    self.isJSON = isJSON
    display = ProgressDisplay(name: URLArgument.name(of: url))
  }

  /// Returns the reports on a part of the stream at this URL.
  func ofPart(_ part: URL) -> GetReports {
    var reports = self
    reports.part = part
    return reports
  }

  /// - Parameter isShown: whether the line at a terminal's foot belongs to this URL now.
  func progress(
    isShown: @escaping @Sendable () -> Bool
  ) -> @Sendable (_ stored: Int64, _ total: Int64?) -> Void {
    { stored, total in
      guard isJSON else {
        return display.note(done: stored, total: total, isShown: isShown())
      }
      guard throttle.isDue() else { return }
      // A closed output is noticed and reported by the line that ends the resource.
      try? tell(Event(event: "progress", url: name, storedBytes: stored, totalBytes: total))
    }
  }

  func done(_ total: Int64?, output: FileCopy.Destination?) throws {
    Console.shared.clear()
    // Standard output then contains the resource and nothing else.
    if case .standardOutput = output { return }
    if isJSON {
      return try tell(Event(event: "done", url: name, storedBytes: total, totalBytes: total))
    }
    let size = total.map { ", \(ByteSize.text($0))" } ?? ""
    let place = output.map { ", written to \($0.name)" } ?? ""
    try Console.shared.print(printable("\(name)\(size)\(place)"))
  }

  /// Reports that a request failed and is sent again after `delay`.
  func retrying(_ error: MediaCacheError, after delay: Duration, isQuiet: Bool) {
    guard isJSON else {
      if !isQuiet { Console.shared.note(RetryReports.line(part ?? url, error)) }
      return
    }
    // A closed output is noticed and reported by the line that ends the resource.
    try? tell(
      Event(
        event: "retrying", url: name, error: ErrorReport(error), seconds: delay / .seconds(1)))
  }

  func failed(_ error: any Error) throws {
    guard isJSON, !(error is CancellationError) else { return }
    try tell(Event(event: "failed", url: name, error: ErrorReport(error)))
  }

  // MARK: Streams

  /// Reports the choice of a stream before it is fetched.
  func selected(_ selection: StreamDownload.Selection, isQuiet: Bool) throws {
    let duration = selection.plan.duration
    if isJSON {
      return try tell(
        Event(
          event: "selected", url: name, estimatedBytes: selection.estimatedBytes,
          totalSeconds: duration,
          variant: selection.variant.map { StreamReport.Variant($0, seconds: duration) },
          renditions: selection.renditions.map(StreamReport.Rendition.init)))
    }
    let skipped = selection.plan.skipped.map { shortened($0, to: 80) }.joined(separator: ", ")
    if !skipped.isEmpty, !isQuiet {
      Console.shared.note(
        printable("refrain: \(name): not fetched, since neither http nor https: \(skipped)"))
    }
    Console.shared.note(printable("\(URLArgument.name(of: url)): \(selection.text)"))
  }

  func streamProgress(
    isShown: @escaping @Sendable () -> Bool, duration: Double
  ) -> @Sendable (StreamDownload.Progress) -> Void {
    let display = ProgressDisplay(name: URLArgument.name(of: url))
    return { progress in
      guard isJSON else { return display.note(progress, of: duration, isShown: isShown()) }
      guard throttle.isDue() else { return }
      let fraction =
        progress.totalSeconds > 0 ? min(progress.storedSeconds / progress.totalSeconds, 1) : 0
      // A closed output is noticed and reported by the line that ends the stream.
      try? tell(
        Event(
          event: "progress", url: name, storedBytes: progress.storedBytes,
          storedSeconds: duration * fraction, totalSeconds: duration))
    }
  }

  // MARK: JSON

  private var name: String { url.withoutUserInfo.absoluteString }

  private func tell(_ event: Event) throws {
    try Console.shared.print(JSONText.line(event))
  }

  private struct Event: Encodable {
    var event: String
    var url: String
    var storedBytes: Int64?
    var totalBytes: Int64?
    /// The estimated size of a stream.
    var estimatedBytes: Int64?
    /// The playing time of a stream.
    var storedSeconds: Double?
    var totalSeconds: Double?
    var variant: StreamReport.Variant?
    var renditions: [StreamReport.Rendition]?
    var error: ErrorReport?
    /// The delay before the next request.
    var seconds: Double?
  }
}

/// An error, for programs.
struct ErrorReport: Sendable, Hashable, Encodable {
  var code: String
  var reason: String
  var remedy: String
  var status: Int?

  init(_ error: any Error) {
    let error = error as? MediaCacheError ?? MediaCacheError(.storage, "\(error)")
    (code, reason, remedy, status) =
      (error.code.rawValue, error.reason, error.remedy, error.status)
  }
}
