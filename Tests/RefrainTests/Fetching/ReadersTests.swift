// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// The readers and the fetches of a generation, as values by themselves.
@Suite(.timeLimit(.minutes(1))) struct ReadersTests {
  private func reader(
    run: Int64 = 0, at position: Int64 = 0, end: Int64 = .max, isBackground: Bool = false
  ) -> GenerationState.Reader {
    var reader = GenerationState.Reader(position: position, runLength: run, end: end)
    (reader.isBackground, reader.hasRead) = (isBackground, run > 0)
    return reader
  }

  private func waiter(_ reader: ReaderID, at offset: Int64?) -> GenerationState.Waiter {
    .init(reader: reader, offset: offset, wake: { _ in })
  }

  @Test func `The waiting calls of one reader are woken once, and no other's`() {
    var readers = GenerationState.Readers()
    (readers[1], readers[2]) = (reader(), reader())
    readers.add(waiter(1, at: 0), as: 11)
    readers.add(waiter(1, at: nil), as: 12)
    readers.add(waiter(2, at: 5), as: 13)
    #expect(readers.waitingIDs == [1, 2])
    let left = readers.waits.filter { $0.readerID == 1 }
    #expect(readers.take(left).count == 2 && readers.take(left).isEmpty)
    #expect(readers.waitingIDs == [2] && readers.waits.map(\.id) == [13])
  }

  @Test func `A player waits for bytes, and neither for information nor in the background`() {
    var readers = GenerationState.Readers()
    (readers[1], readers[2]) = (reader(), reader(isBackground: true))
    readers.add(waiter(1, at: nil), as: 11)
    readers.add(waiter(2, at: 0), as: 12)
    #expect(!readers.isPlayerWaiting)
    readers.add(waiter(1, at: 0), as: 13)
    #expect(readers.isPlayerWaiting)
  }

  @Test func `The departure after a long run is remembered over that after a short one`() {
    var readers = GenerationState.Readers()
    readers.runEnded(of: reader(run: 10), length: nil, longRun: 100)
    #expect(readers.departure == .afterShortRun)
    readers.runEnded(of: reader(run: 100), length: nil, longRun: 100)
    #expect(readers.departure == .afterLongRun)
    readers.runEnded(of: reader(run: 10), length: nil, longRun: 100)
    #expect(readers.departure == .afterLongRun)
  }

  @Test func `Prefetches, and readers at their end, say nothing about how far players read`() {
    var readers = GenerationState.Readers()
    for _ in 0..<8 {
      readers.runEnded(of: reader(run: 500, isBackground: true), length: nil, longRun: 100)
      readers.runEnded(of: reader(run: 500, at: 500, end: 500), length: nil, longRun: 100)
      readers.runEnded(of: reader(run: 500, at: 500), length: 500, longRun: 100)
    }
    #expect(readers.usualRun == nil)
  }

  @Test func `Fewer than four runs give no usual length, and empty ones none`() {
    var readers = GenerationState.Readers()
    for run in [20, 0, 40, 0, 30] as [Int64] {
      var reader = reader(run: run)
      reader.hasRead = true
      readers.runEnded(of: reader, length: 500, longRun: 100)
      #expect(readers.usualRun == nil)
    }
    readers.runEnded(of: reader(run: 10), length: 500, longRun: 100)
    #expect(readers.usualRun == 40)
  }

  @Test func `The usual length is the longest of the latest eight runs`() {
    var readers = GenerationState.Readers()
    for run in [9000, 100, 200, 300, 400, 500, 600, 700] as [Int64] {
      readers.runEnded(of: reader(run: run), length: nil, longRun: 100)
    }
    #expect(readers.usualRun == 9000)
    readers.runEnded(of: reader(run: 5), length: nil, longRun: 100)
    #expect(readers.usualRun == 700)
  }

  @Test func `A reader that is expected counts until it has come, or nobody is expected`() {
    var readers = GenerationState.Readers()
    readers.expected = [7, 8]
    #expect(readers.mayWant)
    readers.expected.remove(7)
    #expect(readers.mayWant)
    readers.expected = []
    #expect(!readers.mayWant)
  }

  @Test func `Fetches without readers are watched once until that ends`() {
    var state = GenerationState(
      limits: FetchPlan(patience: nil, firstRequest: 1, maximumReadAhead: 1), isOffline: false)
    func watches() -> Int {
      state.releaseUnwanted()
      return state.takeActions().count { if case .watchAbandoned = $0 { true } else { false } }
    }
    state.fetches[1] = .init(range: 0..<500)
    #expect(watches() == 1)
    #expect(watches() == 0)
    var isWatched = state.releaseStalled()
    #expect(isWatched)
    state.fetchEnded(1, error: nil)
    isWatched = state.releaseStalled()
    #expect(!isWatched)
    state.fetches[2] = .init(range: 0..<500)
    #expect(watches() == 1)
  }

  @Test func `No fetch goes back, or beyond the length of the resource`() {
    var state = GenerationState(
      limits: FetchPlan(patience: nil, firstRequest: 1, maximumReadAhead: 1), isOffline: false)
    state.fetches[1] = .init(range: 0..<500)
    state.fetches[2] = .init(range: 400..<900)
    state.fetches.move(1, to: 50)
    state.fetches.move(1, to: 20)
    state.establish(
      ContentInformation(
        length: 300, mimeType: nil, supportsRanges: true, validator: nil,
        finalURL: URL(filePath: "/")))
    #expect(state.fetches.mapValues(\.position) == [1: 50, 2: 400])
    #expect(state.fetches[1]?.range == 0..<300 && state.fetches[2]?.range == 300..<300)
  }

  @Test func `A generation that was closed is not replaced after all`() {
    var state = GenerationState(
      limits: FetchPlan(patience: nil, firstRequest: 1, maximumReadAhead: 1), isOffline: false)
    state.supersede()
    #expect(state.life == .superseded)
    state.close()
    state.supersede()
    #expect(state.life == .closed)
  }
}
