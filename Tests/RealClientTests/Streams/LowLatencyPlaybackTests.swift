// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

/// A low-latency HLS stream of fragmented MP4 in hls.js, on two pages of Chromium at once:
/// they play it through the proxy and directly. Eight seconds; five minutes in a soak.
@Suite(
  .enabled(
    if: RequiredProgram.chromium.isUsable && RequiredProgram.ffmpeg.isUsable
      && RequiredScript.hlsJS.isUsable),
  .timeLimit(.minutes(TestSeed.minutes(4))))
struct LowLatencyPlaybackTests {
  private static let seconds = TestSeed.isSoak ? 300 : 8
  private static let media = LowLatencyMedia(seconds: seconds)
  private static let (direct, proxied) = ("/direct/", "/proxied/")
  private static let pages = 2

  /// Serves the pages, and the streams once all pages are ready.
  private func serve(_ stream: LiveStream, on origin: OriginServer) async throws {
    origin.serve(
      OriginResource(.bytes(try RequiredScript.hlsJS.contents), contentType: "text/javascript"),
      at: "/hls.js")
    origin.serve(
      OriginResource(.bytes(LowLatencyPage.html.utf8), contentType: "text/html"),
      at: LowLatencyPage.path)
    origin.serve(OriginResource(.bytes("".utf8)), at: LowLatencyPage.ready)
    origin.script(LowLatencyPage.ready, .on(.all, .delay(nil)))
    try await origin.wait(for: LowLatencyPage.ready) { $0.stalled == Self.pages }
    let clock = LiveClock.running()
    for directory in [Self.direct, Self.proxied] {
      origin.serve(stream, under: directory, clock: clock)
    }
    let known = LowLatencyPage.Stream(
      start: clock.start.timeIntervalSince1970 * 1000, lead: Double(Self.media.secondsAtStart),
      end: Double(Self.media.secondsAtStart + Self.seconds),
      segmentDuration: Double(LowLatencyMedia.segmentDuration),
      framesPerSecond: Double(LowLatencyMedia.framesPerSecond))
    origin.serve(
      OriginResource(.bytes(try JSONEncoder().encode(known)), contentType: "application/json"),
      at: LowLatencyPage.stream)
    origin.release(LowLatencyPage.ready)
  }

  /// Opens a page in Chromium, with caches that are empty.
  private func page(_ number: Int, of test: Proxied) async throws -> LowLatencyPage.Report {
    let report = "\(Page.report)-\(number)"
    let proxied = try test.proxied(Self.proxied + LiveStream.listName)
    let page = test.direct(LowLatencyPage.path).appending(queryItems: [
      URLQueryItem(name: "direct", value: Self.direct + LiveStream.listName),
      URLQueryItem(name: "proxied", value: proxied.absoluteString),
      URLQueryItem(name: "report", value: report),
    ])
    let target = try await Chromium.report(
      of: page, from: test.origin, at: report, within: .seconds(Self.seconds * 2 + 90))
    let json = URLComponents(string: target)?.queryItems?.first { $0.name == "played" }?.value
    return try JSONDecoder().decode(LowLatencyPage.Report.self, from: Data((json ?? "").utf8))
  }

  /// Opens all pages, and returns their reports.
  private func play(
    _ stream: LiveStream, in test: Proxied
  ) async throws -> [LowLatencyPage.Report] {
    try await withThrowingTaskGroup(of: LowLatencyPage.Report?.self) { group in
      group.addTask {
        try await serve(stream, on: test.origin)
        return nil
      }
      for number in 0..<Self.pages { group.addTask { try await page(number, of: test) } }
      return try await group.reduce(into: []) { reports, report in
        if let report { reports.append(report) }
      }
    }
  }

  /// Returns which of the parts are requested of the origin before they exist, until cancelled.
  private func hinted(_ parts: [String], on origin: OriginServer) -> [Task<Bool, Never>] {
    parts.map { part in
      Task {
        // Cancelled if no request for the part waits.
        _ = try? await origin.wait(for: Self.proxied + part) { $0.stalled > 0 }
        return !Task.isCancelled
      }
    }
  }

  @Test func `Two pages play a low-latency stream through the proxy for the requests of one`()
    async throws
  {
    let stream = try await Self.media.stream()
    let parts = stream.segments.indices.flatMap { segment in
      (0..<stream.partCount(of: segment)).map { stream.name(segment, part: $0) }
    }
    let live = parts.dropFirst(Self.media.partsAtStart)
    try await Proxied.with { test in
      let hinting = hinted(Array(live), on: test.origin)
      let outcome = await Task { try await play(stream, in: test) }.result
      for task in hinting { task.cancel() }
      var hints = 0
      for task in hinting where await task.value { hints += 1 }
      let reports = try outcome.get()
      for report in reports { expectPlayed(report) }

      // Through the proxy, two pages cost what one costs.
      let whole = stream.segments.indices.map { stream.name($0) }
      for name in ["init.mp4"] + whole + parts {
        let requests = test.origin.log(Self.proxied + name).requests.map(\.request)
        #expect(requests.count <= 1, "\(name): \(requests.map { $0.range ?? "all" })")
        #expect(requests.allSatisfy { $0.headers.first("Via") != nil }, "\(name) past the proxy")
      }
      let lists = [Self.direct, Self.proxied].map {
        test.origin.log($0 + LiveStream.listName).requests.map(\.request.target)
          .filter { $0.contains("_HLS_msn=") }
      }
      #expect(Set(lists[1]).count == lists[1].count, "a list is requested twice: \(lists[1])")

      // In a soak, at least half of what was published meanwhile: before, pages may begin late.
      let published = Self.seconds * LowLatencyMedia.partsPerSecond
      let requested = [Self.direct, Self.proxied].map { directory in
        live.map { test.origin.log(directory + $0).requests.count }.reduce(0, +)
      }
      let fewest = TestSeed.isSoak ? published / 2 : 1
      #expect(requested[1] >= fewest && lists[1].count >= fewest)
      if TestSeed.isSoak { #expect(hints >= fewest) }
      print(
        "Low latency for \(Self.seconds) s, directly and through the proxy: requests for parts "
          + "\(requested), \(hints) of them before the part exists, for blocking lists "
          + "\(lists.map(\.count)); seconds behind the live edge "
          + "\(reports.map { [$0.direct.distance, $0.proxied.distance] }), stalls "
          + "\(reports.map { [$0.direct.stalls, $0.proxied.stalls] }), equal frames "
          + "\(reports.map(\.equalFrames))")
    }
  }

  /// Checks that both players of a page played the same stream to the end, without a gap, and in a
  /// soak at the same distance from the live edge.
  private func expectPlayed(_ report: LowLatencyPage.Report) {
    for played in [report.direct, report.proxied] {
      #expect(played.error == nil)
      #expect(played.buffered.count == 2, "a gap: \(played)")
      #expect((played.end ?? 0) >= Double(Self.media.secondsAtStart + Self.seconds))
      #expect(played.leastDistance > 0, "\(played)")
    }
    // A busy browser shows fewer frames than it plays.
    #expect(report.equalFrames > 0 && report.differentFrames.isEmpty, "\(report)")
    // A busy machine delays the start of either player, which takes seconds to be made up for.
    if TestSeed.isSoak {
      let half = Double(LowLatencyMedia.segmentDuration) / 2
      #expect(report.proxied.distance <= report.direct.distance + half, "\(report)")
    }
  }
}
