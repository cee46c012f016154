// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Responses that are cut short while the reader of their last bytes does not wait for more.
@Suite(.timeLimit(.minutes(1))) struct MissedCutTests {
  private static let length: Int64 = 1 << 20
  private static let position: Int64 = 500_000
  private static let reader: ReaderID = 1
  private static let error: MediaCacheError = {
    var error = MediaCacheError(.unreachable, "It was cut short.")
    error.retry = .cutShort
    return error
  }()

  /// A state in which a response ended at `position`, and a reader there does not wait.
  private struct Scene {
    var state = GenerationState(
      limits: FetchPlan(patience: 0.5, firstRequest: 64 << 10, maximumReadAhead: 8 << 20),
      isOffline: false)

    init(
      supportsRanges: Bool = false, readerAt offset: Int64 = position, isBackground: Bool = false,
      isReading: Bool = true
    ) {
      let information = ContentInformation(
        length: length, mimeType: nil, supportsRanges: supportsRanges, validator: nil,
        finalURL: URL(filePath: "/"))
      state.establish(information)
      for _ in 0..<100 { _ = state.makeID() }
      var reader = GenerationState.Reader(minimum: 1)
      (reader.activity, reader.isBackground) = (isReading ? .reading : .asking, isBackground)
      reader.position = offset
      state.readers.add(reader, as: MissedCutTests.reader)
      state.fetches.add(.init(range: 0..<length, isWhole: true), as: 10)
      state.fetches.move(10, to: position)
    }

    /// Ends the response.
    mutating func cut() {
      state.fetchEnded(10, error: error)
      #expect(state.takeActions().isEmpty)
    }

    /// Lets the reader wait, and returns the error that it receives and the number of requests.
    mutating func wait(at offset: Int64 = position) -> (error: MediaCacheError?, requests: Int) {
      let id = state.makeID()
      let outcome = state.wait(id, .init(reader: reader, offset: offset, wake: { _ in }))
      let requests = state.takeActions().count { if case .startFetch = $0 { true } else { false } }
      guard case .failure(let error) = outcome else { return (nil, requests) }
      return (error as? MediaCacheError, requests)
    }
  }

  @Test func `A reader receives the error that it missed, once`() {
    var scene = Scene()
    scene.cut()
    var result = scene.wait()
    #expect(result.error == Self.error && result.requests == 0)
    // It asks again: the origin is asked, too.
    result = scene.wait()
    #expect(result.error == nil && result.requests == 1)
  }

  @Test func `Where the origin supports ranges, the next request begins at the cut`() {
    var scene = Scene(supportsRanges: true)
    scene.cut()
    let result = scene.wait()
    #expect(result.error == nil && result.requests == 1)
    #expect(scene.state.fetches.values.first?.range.lowerBound == Self.position)
  }

  @Test(arguments: [false, true])
  func `A player far behind the cut asks the origin again, a prefetch does not`(
    _ isBackground: Bool
  ) {
    var scene = Scene(readerAt: 100_000, isBackground: isBackground)
    scene.cut()
    let result = scene.wait()
    #expect((result.error == Self.error) == isBackground)
    #expect(result.requests == (isBackground ? 0 : 1))
  }

  @Test func `A prefetch that has asked for no byte yet receives the error too`() {
    var scene = Scene(readerAt: 0, isBackground: true, isReading: false)
    scene.cut()
    let result = scene.wait()
    #expect(result.error == Self.error && result.requests == 0)
  }

  @Test func `A reader that lacks only bytes far behind the cut asks the origin for them`() {
    var scene = Scene(readerAt: 499_000)
    _ = scene.state.storage.commit(0..<600_000)
    scene.cut()
    let result = scene.wait(at: 600_000)
    #expect(result.error == nil && result.requests == 1)
  }

  @Test func `A reader that jumps asks the origin again`() {
    var scene = Scene()
    scene.cut()
    _ = scene.state.lookUp(Self.reader, at: 900_000, count: 1)
    let result = scene.wait(at: 900_000)
    #expect(result.error == nil && result.requests == 1)
  }

  @Test func `A reader joins a request that another one has sent since`() {
    var scene = Scene()
    scene.cut()
    var other = GenerationState.Reader(minimum: 1)
    other.position = Self.position
    scene.state.readers.add(other, as: 2)
    _ = scene.state.wait(200, .init(reader: 2, offset: Self.position, wake: { _ in }))
    #expect(scene.state.fetches.values.count == 1)
    _ = scene.state.takeActions()
    let result = scene.wait()
    #expect(result.error == nil && result.requests == 0)
  }

  @Test func `A reader that waited receives the error only once`() {
    var scene = Scene()
    #expect(scene.wait().requests == 0)
    scene.state.fetchEnded(10, error: Self.error)
    let wakes = scene.state.takeActions().count {
      if case .wake(_, .some) = $0 { true } else { false }
    }
    #expect(wakes == 1)
    let result = scene.wait()
    #expect(result.error == nil && result.requests == 1)
  }
}
