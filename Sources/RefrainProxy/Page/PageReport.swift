// SPDX-License-Identifier: MIT
import Refrain

/// Turns what the page shows into JSON, a part at a time.
struct PageReport: Sendable {
  /// The rows in one part: enough to be efficient, and few enough to be written at once.
  private static let rowsInPart = 500

  private let page: Page
  /// What the client has seen.
  private var version: UInt64 = 0
  private var lastRequest: UInt64 = 0
  private var lastProblem: UInt64 = 0
  private var summary: [UInt8] = []

  init(_ page: Page) { self.page = page }

  /// Returns what is new for the client: objects of JSON, none if nothing changed. The rows of all
  /// parts of one difference belong together; the last one says so.
  mutating func news() -> [[UInt8]] {
    var parts: [[UInt8]] = []
    if let difference = page.feed.difference(since: version) {
      version = difference.version
      parts += Self.parts(of: difference)
    }
    if let summary = changedSummary() { parts.append(summary) }
    return parts
  }

  static func parts(of difference: PageModel.Difference) -> [[UInt8]] {
    var parts: [[UInt8]] = []
    var start = 0
    repeat {
      let end = min(start + rowsInPart, difference.rows.count)
      var json = PageJSON()
      json.object { json in
        json.flag("whole", difference.isWhole && start == 0)
        json.flag("more", end < difference.rows.count)
        json.name("rows")
        json.array { json in
          for row in difference.rows[start..<end] { row.write(to: &json) }
        }
        if start == 0, !difference.removed.isEmpty {
          json.name("removed")
          json.array { json in
            for key in difference.removed { json.string(key.rawValue) }
          }
        }
      }
      parts.append(json.bytes)
      start = end
    } while start < difference.rows.count
    return parts
  }

  /// Nil if it is the same as last time.
  private mutating func changedSummary() -> [UInt8]? {
    let rates = page.feed.rates
    let savings = page.traffic.savings
    let downloads = page.downloads.items
    var json = PageJSON()
    json.object { json in
      json.name("state")
      json.object { json in
        json.member("disk", rates.disk)
        json.member("limit", rates.limit)
        json.member("received", rates.received)
        json.member("sent", rates.sent)
        json.flag("offline", rates.isOffline)
        json.member("day", savings.day)
        json.name("today")
        savings.today.write(to: &json)
        json.name("all")
        savings.all.write(to: &json)
        json.name("downloads")
        json.array { json in
          for item in downloads { item.write(to: &json) }
        }
      }
    }
    let requests = page.traffic.recent(after: lastRequest)
    let problems = page.problems.after(lastProblem)
    guard json.bytes != summary || !requests.isEmpty || !problems.isEmpty else { return nil }
    summary = json.bytes
    lastRequest = requests.last?.number ?? lastRequest
    lastProblem = problems.last?.number ?? lastProblem
    var all = PageJSON()
    all.array { json in
      for recent in requests { recent.write(to: &json) }
    }
    var faults = PageJSON()
    faults.array { json in
      for problem in problems { problem.write(to: &json) }
    }
    // Members of the same object.
    var bytes = Array(json.bytes.dropLast())
    bytes += Array(#","requests":"#.utf8) + all.bytes
    bytes += Array(#","problems":"#.utf8) + faults.bytes + [UInt8(ascii: "}")]
    return bytes
  }
}

extension PageSavings.Amount {
  fileprivate func write(to json: inout PageJSON) {
    json.object { json in
      json.member("requests", requests)
      json.member("hits", hits)
      json.member("sent", sent)
      json.member("saved", saved)
    }
  }
}

extension DownloadQueue.Item {
  fileprivate func write(to json: inout PageJSON) {
    json.object { json in
      json.member("id", id)
      json.member("url", url)
      json.member("state", state.rawValue)
      json.member("stored", stored)
      json.member("total", total)
      json.flag("pinned", isPinned)
      json.member("error", error)
    }
  }
}

extension PageTraffic.Recent {
  fileprivate func write(to json: inout PageJSON) {
    json.object { json in
      json.member("number", number)
      json.member("time", time)
      json.member("method", request.method)
      json.member("url", request.url)
      json.member("status", request.status)
      json.member("source", request.source.rawValue)
      json.member("bytes", request.bytesSent)
      json.member("milliseconds", Int64(max(0, min(request.seconds, 1e9)) * 1000))
      json.member("client", request.client)
      json.member("error", fault)
    }
  }
}

extension PageProblems.Problem {
  fileprivate func write(to json: inout PageJSON) {
    json.object { json in
      json.member("number", number)
      json.member("time", time)
      json.member("url", url)
      json.member("text", text)
    }
  }
}
